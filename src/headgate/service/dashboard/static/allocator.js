// The page of an allocator.
import { fillChips, fillRows, tiles } from "./arms.js";
import { drawCurve, drawNow, drawPast, drawReward } from "./charts.js";
import { drift } from "./drift.js";
import { amount, copying, count, dress, figure, interval, onTheme, percent, poll, put } from "./plain.js";

const byId = (id) => document.getElementById(id);
const name = byId("allocator").dataset.name;
const WORDS = { new: "no decision yet", waiting: "no outcome yet", learning: "learning", idle: "idle", archived: "archived" };
const picked = (group) => document.querySelector(`input[name="${group}"]:checked`).value;

let data = null;
let past = null;
let pastOf = "";
let chosen = null;

const find = () => byId("find").value.trim();

function address() {
  const have = past && pastOf === find() ? data.latest : 0;
  return `/allocators/${encodeURIComponent(name)}/data?${new URLSearchParams({ find: find(), have })}`;
}

function figures({ counts, now, units, comparison }) {
  const unit = units ? ` ${units}` : "";
  put("f-reward", figure(now.reward));
  put("f-reward-note", now.rounds ? `in the latest ${count(now.rounds)} rounds${comparison.holdout > 0 ? ", the baseline's too" : ""}` : "no round is complete");
  put("f-value", figure(now.value));
  put("f-value-note", now.value_interval ? `${percent(data.level, 0)} interval ${interval(...now.value_interval)}, mean budget ${figure(now.budget)}${unit}` : " ");
  put("f-decisions", count(counts.decisions));
  put("f-decisions-note", `${count(counts.complete)} complete`);
  put("f-used", percent(counts.budget > 0 ? counts.given / counts.budget : null));
  put("f-used-note", counts.budget > 0 ? `${figure(counts.given)} of ${figure(counts.budget)}${unit}` : " ");
  for (const word of ["complete", "pending", "expired", "late", "duplicates", "contradictions"]) put(`n-${word}`, count(counts[word]));
}

/** What the policy adds to the baseline, before all else; a sentence where that is not known. */
function compared({ comparison: found }) {
  const known = found.difference !== null;
  const signed = (value) => `${value > 0 ? "+" : value < 0 ? "−" : ""}${figure(Math.abs(value))}`;
  const sides = [found.policy_side, found.baseline_side];
  const panel = byId("comparison");
  panel.classList.toggle("known", known);
  panel.classList.toggle("better", known && found.always_interval[0] > 0);
  panel.classList.toggle("worse", known && found.always_interval[1] < 0);
  put("b-difference", known ? `${signed(found.difference)} a decision` : "Not known");
  put("b-interval", known
    ? `${percent(found.level, 0)} interval ${signed(found.always_interval[0])} to ${signed(found.always_interval[1])}${found.relative === null ? "" : ` · ${signed(100 * found.relative)}% of the baseline's ${figure(found.baseline_side.value_per_decision)}`}`
    : "");
  const chance = known && found.always_interval[0] <= 0 && found.always_interval[1] >= 0 ? "Chance may explain this" : "Chance does not explain this";
  put("b-words", known
    ? `${chance}. Value per decision (successes times their value) of ${count(sides[0].complete)} decisions of the policy and ${count(sides[1].complete)} of the baseline, drawn at random (holdout ${percent(found.holdout, 0)} now). The interval holds at all times together: look as often as you like.`
    : found.words);
  byId("b-caution").hidden = found.caution === null;
  put("b-caution", found.caution ?? "");
}

function heading(state) {
  const pill = byId("status");
  pill.textContent = WORDS[state.status];
  pill.className = `pill ${state.status}`;
  const arms = `${count(state.arms_in_use)} ${state.arms_in_use === 1 ? "arm" : "arms"}${state.arms_retired ? `, ${count(state.arms_retired)} retired` : ""}`;
  const kind = state.reward_kind === "cascade" ? " · one success a round is enough" : "";
  put("about", `${arms} · ${state.law} · ${state.policy} · up to ${amount(state.max_budget)}${state.units ? ` ${state.units}` : ""} a round${kind}${state.version ? ` · version ${count(state.version)}` : ""}`);
  const archived = state.archived_at !== null;
  byId("notice").hidden = !archived;
  if (archived) put("notice", `Archived on ${new Date(state.archived_at).toLocaleString("en-GB", { dateStyle: "long", timeStyle: "short" })}: it makes no more decisions. Outcomes of those it made still count.`);
  for (const level of document.querySelectorAll(".level")) level.textContent = String(Math.round(100 * state.level));
}

function beginning(state) {
  const begin = state.counts.complete === 0 && state.archived_at === null;
  byId("begin").hidden = !begin;
  if (!begin) return;
  put("begin-text", state.counts.decisions
    ? `${count(state.counts.decisions)} decided, and nothing complete yet. A round is complete when every arm that got something has been heard of.`
    : "Ask for a decision, then tell what came of it.");
  put("begin-budget", String(state.max_budget));
  const results = Object.fromEntries(state.arms.slice(0, 3).map((arm) => [arm.name, { success: false }]));
  put("begin-results", JSON.stringify(results).replaceAll("'", "\\u0027"));
}

function searching(state) {
  const many = state.arms_in_use > state.arms.length || state.find !== "";
  byId("find-row").hidden = !many;
  const of = `${count(state.arms_in_use)} arms`;
  put("shown", state.find
    ? `${count(state.arms_matching)} of ${of} match${state.arms_matching > state.arms.length ? `; the ${state.arms.length} that got most are shown` : ""}`
    : `The ${state.arms.length} of ${of} that got most so far are shown.`);
  const unit = state.units ? ` in ${state.units}` : "";
  put("rest", `Best: the best allocation by the estimates at the mean budget${unit}. Latest: the mean of the latest decisions. Chance: of success with the best.${many ? ` ${count(state.rest.arms)} arms are not shown.` : ""}`);
}

/** The past, and the present at its end. */
function untilNow() {
  const { counts, now, arms } = data;
  if (past.complete.at(-1) >= counts.complete || now.value === null) return past;
  const seen = { complete: counts.complete, reward: now.reward, mean: now.mean_reward, value: now.value, low: now.value_interval[0], high: now.value_interval[1] };
  const longer = Object.fromEntries(Object.entries(seen).map(([key, value]) => [key, [...past[key], value]]));
  longer.arms = Object.fromEntries(arms.map((arm) => [arm.name, [...(past.arms[arm.name] ?? past.complete.map(() => null)), [...arm.activation, ...arm.rate, arm.best]]]));
  return longer;
}

function draw() {
  if (!data) return;
  const { arms, rest, units } = data;
  dress(arms.map((arm) => arm.name));
  if (!arms.some((arm) => arm.name === chosen)) chosen = arms[0]?.name ?? null;
  drawNow(byId("c-now"), arms, units);
  const others = `; the ${count(rest.arms)} others get ${figure(rest.given)} together, and by the estimates ${figure(rest.best)}`;
  put("given-text", data.latest_rounds ? `mean of the latest ${count(data.latest_rounds)} decisions` : "mean of the latest decisions (none yet)");
  put("others", rest.arms > 0 && rest.given !== null ? others : "");
  put("curve-units", units ? ` in ${units}` : "");
  const top = Math.min(1, 1.1 * Math.max(0.01, ...arms.map(({ curve }) => {
    const most = Math.max(...curve.y);
    return Math.max(Math.min(Math.max(...curve.high), 2.5 * most), ...curve.seen.share.map((v) => Math.min(v, 2 * most)));
  })));
  tiles(byId("curves"), arms).forEach((plot, i) => drawCurve(plot, arms[i], units, top));
  fillRows(byId("rows"), arms);
  drift(byId("drift"), data.drift, units);
  fillChips(byId("chips"), arms, chosen, (arm) => { chosen = arm; draw(); });
  const seen = past === null ? null : untilNow();
  const enough = seen !== null && seen.complete.length > 0;
  for (const id of ["c-reward", "c-past"]) byId(id).closest(".panel").hidden = !enough;
  document.querySelector(".two").classList.toggle("single", !enough);
  if (!enough) return;
  drawReward(byId("c-reward"), seen, picked("axis"));
  drawPast(byId("c-past"), seen, arms, picked("what"), chosen, units, picked("axis"));
}

function show(state) {
  data = state;
  if (state.history) [past, pastOf] = [state.history, state.find];
  heading(state);
  compared(state);
  figures(state);
  beginning(state);
  searching(state);
  draw();
}

const ask = poll(address, show);
let typing = 0;
byId("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(ask, 200);
});
for (const group of ["axis", "what"]) byId(group).addEventListener("change", draw);
onTheme(draw);
copying();
