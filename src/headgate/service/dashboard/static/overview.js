// The first page: a card for every allocator.
import { copying, count, figure, make, percent, poll, put } from "./plain.js";

const WORDS = { new: "no decision yet", waiting: "no outcome yet", learning: "learning", idle: "idle", archived: "archived" };

/** The reward per round so far, and where the optimum is thought to be. */
function spark(past, value) {
  const top = Math.max(...past, value ?? 0) * 1.06 || 1;
  const y = (v) => (54 - (54 * v) / top).toFixed(1);
  const x = (i) => ((300 * i) / Math.max(past.length - 1, 1)).toFixed(1);
  const path = past.map((v, i) => `${i ? "L" : "M"}${x(i)} ${y(v)}`).join("");
  return make("svg", { class: "spark", viewBox: "0 0 300 54", preserveAspectRatio: "none", "aria-hidden": "true" },
    value === null ? null : make("line", { x1: 0, x2: 300, y1: y(value), y2: y(value) }),
    make("path", { d: path }));
}

const pair = (word, text) => make("div", {}, make("dt", {}, word), make("dd", {}, text));

function card(one) {
  const share = one.recent !== null && one.value ? one.recent / one.value : null;
  return make("li", { class: one.status },
    make("a", { href: `/allocators/${encodeURIComponent(one.name)}` },
      make("h2", {}, one.name, make("span", { class: `pill ${one.status}` }, WORDS[one.status])),
      make("p", { class: "fine" }, `${count(one.arms)} ${one.arms === 1 ? "arm" : "arms"} · ${one.law} · ${one.policy}`),
      spark(one.past, one.value),
      make("dl", {},
        pair("reward per round", figure(one.recent)),
        pair("of the optimum", percent(share)),
        pair("decisions", count(one.decisions)),
        pair("pending", count(one.pending)))));
}

function show({ allocators }) {
  const cards = document.getElementById("cards");
  const focus = [...cards.querySelectorAll("a")].indexOf(document.activeElement);
  cards.replaceChildren(...allocators.map(card));
  if (focus >= 0) cards.querySelectorAll("a")[focus]?.focus({ preventScroll: true });
  cards.hidden = allocators.length === 0;
  document.getElementById("empty").hidden = allocators.length > 0;
  const decisions = allocators.reduce((sum, one) => sum + one.decisions, 0);
  put("summary", allocators.length ? `${count(allocators.length)} here, ${count(decisions)} decisions. The line is the reward per round, dashed is the estimated optimum.` : "None yet.");
}

copying();
poll(() => "/data", show);
