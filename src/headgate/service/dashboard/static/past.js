// The past of an allocator: small multiples of its estimates by the clock, and the latest decisions.
import { amount, colour, count, dress, figure, look, make, plain, poll, put } from "./plain.js";

const AT = { activation: [0, 1, 2], rate: [3, 4, 5], best: [6, 6, 6] };
const CONFIG = { displayModeBar: false, responsive: true, staticPlot: false, scrollZoom: false, doubleClick: false };
const name = document.getElementById("allocator").dataset.name;
const tiles = new Map();
let data = null;
let what = "activation";

/** The largest value of all arms once they are half known: the same axis makes charts comparable. */
function top(arms, place) {
  if (what === "activation") return 1;
  const late = Object.values(arms).flatMap((then) => then.slice(Math.floor(then.length / 3)).filter(Boolean).map((v) => v[place]));
  return 1.25 * Math.max(...late, 1e-9);
}

function draw(plot, arm, times, most) {
  const [middle, low, high] = AT[what];
  const then = data.arms[arm];
  const here = then.map((v, i) => (v ? i : -1)).filter((i) => i >= 0);
  const x = here.map((i) => times[i]);
  const y = here.map((i) => then[i][middle]);
  const ends = (place) => here.map((i) => Math.min(then[i][place] ?? most, most));
  const stroke = look(arm).colour;
  const axis = { gridcolor: colour("grid"), zeroline: false, fixedrange: true, automargin: true, tickfont: { size: 10.5, color: colour("soft") }, nticks: 4 };
  Plotly.react(plot, [
    { x: [...x, ...[...x].reverse()], y: [...ends(high), ...ends(low).reverse()], fill: "toself", fillcolor: `${stroke}33`, mode: "lines", line: { width: 0 }, hoverinfo: "skip" },
    { x, y, mode: x.length > 1 ? "lines" : "markers", line: { color: stroke, width: 2 }, marker: { color: stroke, size: 7 }, hovertemplate: "%{text}<extra></extra>",
      text: here.map((i) => `${plain(arm)} <b>${figure(then[i][middle])}</b>${low === middle ? "" : ` (${figure(then[i][low])} – ${then[i][high] === null ? "∞" : figure(then[i][high])})`}`) },
  ], {
    margin: { l: 4, r: 6, t: 4, b: 4 }, showlegend: false, dragmode: false, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("ink") }, xaxis: { ...axis, type: "date", range: [times[0], times.at(-1)] }, yaxis: { ...axis, range: [0, most] },
  }, CONFIG);
}

function charts() {
  const arms = Object.keys(data.arms);
  dress(arms);
  for (const [arm, tile] of tiles) if (!arms.includes(arm)) { tile.remove(); tiles.delete(arm); }
  for (const arm of arms) {
    if (tiles.has(arm)) continue;
    tiles.set(arm, make("div", { class: "tile" }, make("h3", {}, make("span", {}, arm)), make("div", { class: "plot" })));
    document.getElementById("arms").append(tiles.get(arm));
  }
  const times = data.at.map((text) => new Date(text));
  const most = top(data.arms, AT[what][0]);
  for (const arm of arms) draw(tiles.get(arm).querySelector(".plot"), arm, times, most);
  put("others", data.others ? `${count(data.others)} more arms are not drawn.` : "");
}

function line(one) {
  const largest = Object.entries(one.allocation).filter(([, x]) => x > 0).sort((a, b) => b[1] - a[1]);
  const rest = largest.length > 3 ? ` and ${count(largest.length - 3)} more` : "";
  const words = largest.slice(0, 3).map(([arm, x]) => `${arm} ${figure(x)}`).join(", ") + rest;
  return make("tr", {},
    make("td", {}, new Date(one.at).toLocaleString()), make("td", {}, one.id),
    make("td", { class: "n" }, one.budget === null ? "unknown" : amount(one.budget)), make("td", {}, words || "step by step"),
    make("td", { class: "n" }, one.heard ? count(one.won.length) : "–"),
    make("td", {}, one.complete ? "complete" : one.heard ? "in part" : "none yet"));
}

function show(answer) {
  data = answer;
  if (data.at.length) charts();
  document.getElementById("decisions").replaceChildren(...data.decisions.map(line));
}

document.getElementById("what").addEventListener("change", (event) => { what = event.target.value; if (data?.at.length) charts(); });
poll(() => `/allocators/${encodeURIComponent(name)}/past/data`, show);
