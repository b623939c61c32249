// The charts, drawn with plotly from data that is already plain text and numbers.
import { colour, figure, look, plain } from "./plain.js";

export const CONFIG = { displayModeBar: false, responsive: true, showTips: false, scrollZoom: false, doubleClick: false };
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif';

export function axis(title, more = {}) {
  return {
    title: { text: title, font: { size: 12.5, color: colour("soft") }, standoff: 6 }, gridcolor: colour("grid"), zeroline: false,
    linecolor: colour("line"), tickfont: { size: 11.5, color: colour("soft") }, automargin: true, fixedrange: true, ...more,
  };
}

export function layout(more) {
  return {
    font: { family: FONT, size: 12, color: colour("ink") }, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 12, t: 6, b: 8 }, showlegend: false, hovermode: "closest", dragmode: false,
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { family: FONT, size: 12.5, color: colour("ink") }, align: "left" },
    ...more,
  };
}

const FEW = 30;
const dots = (x, color, size = 5) => (x.length > FEW ? { mode: "lines" } : { mode: "lines+markers", marker: { size: x.length > 1 ? size : 9, color } });
const faded = (hex, alpha) => `${hex}${Math.round(255 * alpha).toString(16).padStart(2, "0")}`;

/** A band between two lines: there and back again. */
function band(x, low, high, fill) {
  return {
    x: [...x, ...[...x].reverse()], y: [...high, ...[...low].reverse()], fill: "toself", fillcolor: fill, mode: "lines",
    line: { width: 0 }, hoverinfo: "skip", type: "scatter",
  };
}

/** Whole powers of ten as they are read, for axes of rounds. */
function rounds(kind, complete) {
  const most = Math.max(...complete, 2) * (complete.length > 1 ? 1 : 1.5);
  if (kind === "linear") return axis("complete decisions", { type: "linear", range: [0, most], tickformat: ",d", nticks: 8 });
  const least = Math.max(1, Math.min(...complete) / (complete.length > 1 ? 1 : 1.5));
  const ticks = [1, 2, 5].flatMap((d) => [...Array(10).keys()].map((e) => d * 10 ** e)).filter((v) => v >= least * 0.99 && v <= most * 1.01);
  const tens = ticks.length > 9 ? ticks.filter((v) => /^10*$/.test(String(v))) : ticks;
  const few = tens.length > 1 ? tens : [...new Set([complete[0], complete.at(-1)])];
  return axis("complete decisions", {
    type: "log", range: [Math.log10(least), Math.log10(most * 1.001)], tickvals: few, ticktext: few.map((v) => v.toLocaleString("en")),
  });
}

export function drawReward(place, past, kind) {
  const x = past.complete;
  const water = colour("water");
  const numbers = { hovertemplate: "%{text}<extra></extra>" };
  const top = Math.max(...past.value, ...past.reward.filter((v) => v !== null), 0.001);
  const high = past.high.map((v) => Math.min(v, 1.35 * top));
  Plotly.react(place, [
    band(x, past.low, high, faded("#7d8b97", 0.18)),
    { x, y: past.value, ...dots(x, colour("soft"), 4), line: { color: colour("soft"), width: 1.75, dash: "dash" }, name: "estimated optimum", ...numbers,
      text: x.map((n, i) => `after ${n.toLocaleString("en")} rounds<br>estimated optimum <b>${figure(past.value[i])}</b> (${figure(past.low[i])} – ${figure(past.high[i])})`) },
    { x, y: past.reward, ...dots(x, water), line: { color: water, width: 2.5 }, name: "reward per round", ...numbers,
      text: x.map((n, i) => `after ${n.toLocaleString("en")} rounds<br>reward per round <b>${figure(past.reward[i])}</b>, from the start ${figure(past.mean[i])}`) },
  ], layout({
    xaxis: rounds(kind, x), yaxis: axis("successes per round", { range: [0, 1.12 * Math.max(top, ...high.slice(-20))], nticks: 6 }),
  }), CONFIG);
}

export function drawNow(place, arms, units) {
  const rows = [...arms].reverse();
  const names = rows.map((arm) => arm.name);
  const words = names.map((name) => plain(name.length > 18 ? `${name.slice(0, 17)}…` : name));
  const best = rows.map((arm) => arm.best);
  const given = rows.map((arm) => arm.given);
  const looks = names.map(look);
  const y = words.map((_, i) => i);
  const fills = looks.map((l) => faded(l.colour, 0.75));
  const row = (place.clientHeight - 60) / Math.max(words.length, 1);
  const unit = plain(units ?? "");
  Plotly.react(place, [
    { type: "bar", orientation: "h", x: best, y, hovertemplate: "%{text}<extra></extra>", width: Math.min(0.66, 26 / row),
      text: words.map((word, i) => `<b>${word}</b><br>best by the estimates ${figure(best[i])} ${unit}${given[i] === null ? "" : `<br>latest decisions ${figure(given[i])} ${unit}`}`),
      textposition: "none",
      marker: { color: fills, pattern: { shape: looks.map((l) => (l.dashed ? "/" : "")), size: 6, solidity: 0.35, bgcolor: fills, fgcolor: colour("card") } } },
    { type: "scatter", mode: "markers", x: given, y, hoverinfo: "skip",
      marker: { size: 9, color: colour("card"), line: { color: colour("ink"), width: 2 } } },
  ], layout({
    xaxis: axis(units ? `allocation, ${unit}` : "allocation", { rangemode: "tozero", nticks: 7 }),
    yaxis: axis("", { tickvals: y, ticktext: words, showgrid: false, range: [-0.6, words.length - 0.4] }), bargap: 0.2,
  }), CONFIG);
}

const WHAT = {
  activation: { at: [0, 1, 2], title: () => "activation p", range: [0, 1] },
  rate: { at: [3, 4, 5], title: (units) => (units ? `rate λ, per unit of ${plain(units)}` : "rate λ") },
  best: { at: [6, 6, 6], title: (units) => (units ? `best allocation, ${plain(units)}` : "best allocation") },
};

export function drawPast(place, past, arms, what, chosen, units, kind) {
  const { at, title, range } = WHAT[what];
  const traces = [];
  let most = 0;
  for (const { name } of arms) {
    const then = past.arms[name] ?? [];
    const { colour: line, dashed } = look(name);
    const here = then.map((v, i) => (v ? i : -1)).filter((i) => i >= 0);
    const x = here.map((i) => past.complete[i]);
    const y = here.map((i) => then[i][at[0]]);
    most = Math.max(most, ...y.slice(Math.floor(y.length / 3)));
    if (name === chosen && what !== "best") {
      traces.unshift(band(x, here.map((i) => then[i][at[1]]), here.map((i) => then[i][at[2]] ?? 1e6 * then[i][at[0]]), faded(line, 0.2)));
    }
    traces.push({
      x, y, ...dots(x, line, 4), opacity: chosen && name !== chosen ? 0.4 : 1, hovertemplate: "%{text}<extra></extra>",
      line: { color: line, width: name === chosen ? 3 : 1.5, dash: dashed ? "5px,3px" : "solid" },
      text: here.map((i) => `<b>${plain(name)}</b> ${figure(then[i][at[0]])}${what === "best" ? "" : ` (${figure(then[i][at[1]])} – ${then[i][at[2]] === null ? "∞" : figure(then[i][at[2]])})`}<br>after ${past.complete[i].toLocaleString("en")} rounds`),
    });
  }
  Plotly.react(place, traces, layout({
    xaxis: rounds(kind, past.complete), yaxis: axis(title(units), { range: range ?? [0, 1.3 * (most || 1)], nticks: 6 }),
  }), CONFIG);
}

export function drawCurve(place, arm, units, top) {
  const { colour: line, dashed } = look(arm.name);
  const { x, y, low, high, whole, seen } = arm.curve;
  const shape = whole ? "hv" : "linear";
  const stairs = (v, up) => (whole ? v.flatMap((_, i) => (i + 1 < v.length ? [v[i], v[i + up]] : [v[i]])) : v);
  const edge = band(stairs(x, 1), stairs(low, 0), stairs(high, 0), faded(line, 0.2));
  const unit = plain(units ?? "");
  Plotly.react(place, [
    edge,
    { x: [arm.best, arm.best], y: [0, top], mode: "lines", line: { color: colour("faint"), width: 1.25 }, hoverinfo: "skip" },
    { x: seen.x, y: seen.share, mode: "markers", hovertemplate: "%{text}<extra></extra>",
      marker: { size: seen.trials.map((n) => 3.5 + 1.5 * Math.log10(n)), color: "rgba(0,0,0,0)", line: { color: line, width: 1.25 } },
      text: seen.x.map((v, i) => `seen: ${(100 * seen.share[i]).toFixed(0)}% of ${seen.trials[i].toLocaleString("en")} trials<br>at about ${figure(v)} ${unit}`) },
    { x, y, mode: "lines", line: { color: line, width: 2.25, shape, dash: dashed ? "5px,3px" : "solid" }, hovertemplate: "%{text}<extra></extra>",
      text: x.map((v, i) => `${figure(v)} ${unit}<br>chance <b>${figure(y[i])}</b> (${figure(low[i])} – ${figure(high[i])})`) },
  ], layout({
    margin: { l: 4, r: 6, t: 4, b: 4 },
    xaxis: axis("", { title: { text: unit, font: { size: 11, color: colour("faint") }, standoff: 2 }, range: [0, x[x.length - 1] || 1], nticks: 5 }), yaxis: axis("", { range: [0, top], nticks: 4 }),
  }), CONFIG);
}
