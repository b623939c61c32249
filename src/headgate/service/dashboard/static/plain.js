// What both pages use: asking again and again, numbers as text, elements, and the colours of arms.

const EVERY = 2000;
const SLOWEST = 10000;

/** Ask for data until the page is closed: every two seconds, more seldom when nobody answers or nobody looks. */
export function poll(address, show) {
  const live = document.getElementById("live");
  const lost = document.getElementById("lost");
  let wait = EVERY;
  let timer = 0;
  let running = false;
  let again = false;

  const say = (state, words) => {
    live.className = `live ${state}`;
    live.lastElementChild.textContent = words;
  };
  const fail = (words) => {
    say("off", "not connected");
    lost.textContent = words;
    lost.hidden = false;
    document.body.classList.add("stale");
    wait = Math.min(wait * 1.5, SLOWEST);
  };
  async function ask() {
    clearTimeout(timer);
    again = running;
    if (running) return;
    running = true;
    try {
      const answer = await fetch(address(), {
        headers: { Accept: "application/json" }, cache: "no-store", signal: AbortSignal.timeout(15000),
      });
      if (answer.status === 401) {
        location.assign("/login");
        return;
      }
      if (answer.status === 404) fail("This allocator is not there any more; trying again.");
      else if (!answer.ok) fail("The service cannot answer now; trying again.");
      else {
        const data = await answer.json();
        wait = EVERY;
        lost.hidden = true;
        document.body.classList.remove("stale");
        say("on", "live");
        await show(data);
        document.documentElement.dataset.shown = String(Number(document.documentElement.dataset.shown || 0) + 1);
      }
    } catch (error) {
      if (!(error instanceof TypeError && /fetch|network|load/i.test(error.message)) && error.name !== "TimeoutError") console.error(error);
      fail("Cannot reach the service; trying again.");
    } finally {
      running = false;
      if (!document.hidden) timer = setTimeout(ask, again ? 0 : wait);
    }
  }
  document.addEventListener("visibilitychange", () => (document.hidden ? clearTimeout(timer) : ask()));
  ask();
  return ask;
}

/** Make an element with attributes and children; text is always text. */
export function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line"].includes(tag);
  const made = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function put(id, text) {
  const place = document.getElementById(id);
  if (place.textContent !== text) place.textContent = text;
}

const whole = new Intl.NumberFormat("en");
export const count = (n) => whole.format(n);
export const percent = (v, digits = 1) => (v === null || v === undefined ? "–" : `${(100 * v).toFixed(digits)}%`);

/** Three figures or so, without exponents where they can be avoided. */
export function figure(v) {
  if (v === null || v === undefined) return "–";
  if (v === 0) return "0";
  const size = Math.abs(v);
  if (size >= 1e7 || size < 1e-4) return v.toExponential(1).replace("e+", "e");
  if (size >= 1000) return whole.format(Math.round(v));
  return v.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 0.1 ? 2 : size >= 0.01 ? 3 : 4);
}
const few = new Intl.NumberFormat("en", { maximumSignificantDigits: 4 });
/** A number that somebody chose. */
export const amount = (v) => few.format(v);
export const interval = (low, high) => `${figure(low)} – ${high === null ? "∞" : figure(high)}`;

/** Text for plotly, which takes some tags for markup. */
export const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const dark = matchMedia("(prefers-color-scheme: dark)");
export const onTheme = (redraw) => dark.addEventListener("change", redraw);
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

// Okabe and Ito's, told apart by the colour-blind; with two strokes, twelve arms.
const LIGHT = ["#0072b2", "#d55e00", "#009e73", "#b4558b", "#3aa0d8", "#c98a00"];
const DARK = ["#5ab0e8", "#ff8f57", "#3fcaa0", "#e79bc6", "#a9dcff", "#f0b93a"];
const slots = new Map();

/** Give every shown arm a look, which it keeps for as long as it is shown. */
export function dress(names) {
  for (const name of [...slots.keys()]) if (!names.includes(name)) slots.delete(name);
  const free = [...Array(12).keys()].filter((slot) => ![...slots.values()].includes(slot));
  for (const name of names) if (!slots.has(name)) slots.set(name, free.shift() ?? 0);
}
export function look(name) {
  const slot = slots.get(name) ?? 0;
  return { colour: (dark.matches ? DARK : LIGHT)[slot % 6], dashed: slot >= 6 };
}
export function swatch(name) {
  const { colour: stroke, dashed } = look(name);
  const line = make("path", { d: "M0 5h16", stroke, "stroke-dasharray": dashed ? "5 2.5" : "none" });
  return make("svg", { class: "swatch", viewBox: "0 0 16 10", "aria-hidden": "true" }, line);
}

/** Let buttons copy what they stand beside. */
export function copying() {
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      const code = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(code);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }
}
