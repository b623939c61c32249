// The table of arms, the chips, and the tiles that hold the response curves.
import { count, figure, interval, make, percent, swatch } from "./plain.js";

const known = (arm) => arm.known.replace("*", "×");

/** Fill the table. */
export function fillRows(body, arms) {
  body.replaceChildren(...arms.map((arm) => {
    const cell = (text, kind = "n") => make("td", { class: kind }, text);
    return make("tr", {},
      make("th", { scope: "row", title: arm.name }, make("span", {}, swatch(arm.name), make("span", {}, arm.name))),
      cell(known(arm), arm.known === "known" ? "" : "maybe"),
      cell(figure(arm.activation[0])), cell(interval(arm.activation[1], arm.activation[2]), "n wide"),
      cell(figure(arm.rate[0])), cell(interval(arm.rate[1], arm.rate[2]), "n wide"),
      cell(figure(arm.best)), cell(figure(arm.given)), cell(percent(arm.chance[0], 0)),
      cell(count(arm.successes)), cell(count(arm.trials)));
  }));
}

/** Buttons to choose an arm. They stay as they are while the arms do, so that the focus does too. */
export function fillChips(place, arms, chosen, choose) {
  const names = arms.map((arm) => arm.name);
  const now = [...place.children].map((chip) => chip.dataset.arm);
  if (names.join("\n") !== now.join("\n")) {
    place.replaceChildren(...names.map((name) => {
      const chip = make("button", { type: "button", "data-arm": name }, swatch(name), make("span", {}, name));
      chip.addEventListener("click", () => choose(name));
      return chip;
    }));
  }
  for (const chip of place.children) {
    chip.setAttribute("aria-pressed", String(chip.dataset.arm === chosen));
    chip.firstElementChild.replaceWith(swatch(chip.dataset.arm));
  }
}

/** Make room for a curve of each arm; return the rooms. */
export function tiles(place, arms) {
  while (place.children.length > arms.length) {
    Plotly.purge(place.lastElementChild.querySelector(".plot"));
    place.lastElementChild.remove();
  }
  while (place.children.length < arms.length) {
    place.append(make("div", { class: "tile" },
      make("h3", {}, make("svg"), make("span"), make("small")), make("div", { class: "plot", role: "img" })));
  }
  return arms.map((arm, i) => {
    const tile = place.children[i];
    const [mark, name, note] = tile.firstElementChild.children;
    mark.replaceWith(swatch(arm.name));
    name.textContent = arm.name;
    name.title = arm.name;
    note.textContent = arm.known === "known" ? `${count(arm.trials)} trials` : known(arm);
    const plot = tile.lastElementChild;
    plot.setAttribute("aria-label", `Response curve of ${arm.name}: chance ${percent(arm.chance[0], 0)} at the best allocation`);
    return plot;
  });
}
