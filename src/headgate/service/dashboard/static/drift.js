// When arms have changed: what each window of time brought, beside what one curve for all of it expects.
import { axis, CONFIG, layout } from "./charts.js";
import { colour, count, figure, look, make, percent, plain, swatch } from "./plain.js";

const when = (text) => new Date(text).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
let before = "";

function tile(place, i) {
  if (!place.children[i]) {
    place.append(make("div", { class: "tile" }, make("h3", {}, make("svg"), make("span"), make("small")), make("div", { class: "plot", role: "img" })));
  }
  return place.children[i];
}

function draw(plot, arm, at, top) {
  const { colour: line } = look(arm.name);
  const here = arm.trials.map((n, i) => (n ? i : -1)).filter((i) => i >= 0);
  const x = here.map((i) => at[i]);
  const most = Math.max(...arm.trials, 1);
  const shapes = arm.changed
    ? [{ type: "line", x0: arm.changed.at, x1: arm.changed.at, yref: "paper", y0: 0, y1: 1, line: { color: colour("ink"), width: 1.5, dash: "dot" } }] : [];
  Plotly.react(plot, [
    { x, y: here.map((i) => arm.expected[i]), mode: x.length > 1 ? "lines" : "markers", line: { color: colour("soft"), width: 1.5 }, hoverinfo: "skip" },
    { x, y: here.map((i) => arm.share[i]), mode: "markers", hovertemplate: "%{text}<extra></extra>",
      marker: { color: line, size: here.map((i) => 4 + 7 * Math.sqrt(arm.trials[i] / most)), opacity: 0.85 },
      text: here.map((i) => `<b>${plain(arm.name)}</b> until ${when(at[i])}<br>${percent(arm.share[i], 0)} of ${count(arm.trials[i])} trials, expected ${percent(arm.expected[i], 0)}`) },
  ], layout({
    shapes, margin: { l: 4, r: 6, t: 4, b: 4 }, xaxis: axis("", { type: "date", nticks: 3, tickangle: 0 }), yaxis: axis("", { range: [0, top], tickformat: ".0%", nticks: 4 }),
  }), CONFIG);
}

/** Fill the panel; without windows of time it is not there. */
export function drift(panel, found, units) {
  panel.hidden = !found;
  if (!found) return;
  const place = panel.querySelector("#c-drift");
  const arms = found.arms;
  const told = arms.filter((arm) => arm.changed).sort((a, b) => b.changed.ratio - a.changed.ratio);
  const words = told.map(({ name, changed }) =>
    `${name} changed around ${when(changed.at)}: its chance of success with ${figure(changed.amount)}${units ? ` ${units}` : ""} was ${percent(changed.before, 0)} before and is ${percent(changed.after, 0)} since (ratio ${figure(changed.ratio)}).`);
  panel.querySelector("#d-words").textContent = !found.at.length
    ? "Not known: too few windows of time have ended."
    : words.join(" ") || `No arm that is shown has changed in the latest ${count(found.at.length)} windows of time, as far as can be told.`;
  panel.classList.toggle("changed", told.length > 0);
  const key = JSON.stringify([found.at.at(-1), arms.map((arm) => arm.name), colour("ink")]);
  if (key === before) return;
  before = key;
  while (place.children.length > arms.length) {
    Plotly.purge(place.lastElementChild.querySelector(".plot"));
    place.lastElementChild.remove();
  }
  const top = Math.min(1.03, 1.15 * Math.max(0.02, ...arms.flatMap((arm) => [...arm.expected, ...arm.share.map((v, i) => (arm.trials[i] > 4 ? v : 0))].map((v) => v ?? 0))));
  arms.forEach((arm, i) => {
    const [head, plot] = tile(place, i).children;
    const [mark, name, note] = head.children;
    mark.replaceWith(swatch(arm.name));
    name.textContent = arm.name;
    name.title = arm.name;
    note.textContent = arm.changed ? `changed: ${percent(arm.changed.before, 0)} → ${percent(arm.changed.after, 0)}` : "no change seen";
    plot.setAttribute("aria-label", `Success of ${arm.name} by windows of time: ${note.textContent}`);
    draw(plot, arm, found.at, top);
  });
}
