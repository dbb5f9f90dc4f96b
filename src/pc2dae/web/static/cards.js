// @ts-check
// Order, size and visibility of the live cards, remembered on this computer for each suite.

import { editLimits } from "./limits.js";
import { el, fill, show } from "./view/dom.js";

/** @typedef {{order: string[], hidden: string[], large: string[]}} Layout */
/** @typedef {{card: HTMLElement, brief: HTMLElement}} Placed */

const KEPT = "live-cards";

export class Cards {
  /** `onChange()` after cards were moved or resized. @param {{grid: HTMLElement, values: HTMLElement, hidden: HTMLElement, onChange: () => void}} places */
  constructor({ grid, values, hidden, onChange }) {
    this.grid = grid;
    this.values = values;
    this.hidden = hidden;
    this.onChange = onChange;
    this.suite = "";
    /** @type {Map<string, Placed>} */
    this.strips = new Map();
    /** @type {Layout} */
    this.layout = { order: [], hidden: [], large: [] };
    grid.addEventListener("dragover", (event) => this.over(event));
    grid.addEventListener("drop", (event) => event.preventDefault());
  }

  /** Show the cards of a suite as they were arranged before. @param {string} suite @param {Map<string, Placed>} strips */
  arrange(suite, strips) {
    if (suite !== this.suite) this.layout = { order: [], hidden: [], large: [], ...stored()[suite] };
    this.suite = suite;
    this.strips = strips;
    for (const [name, { card }] of strips) if (!card.querySelector(".card-tools")) this.equip(name, card);
    this.place();
  }

  /** Names in their order; new ones last. */
  names() {
    const all = [...this.strips.keys()], known = this.layout.order.filter((name) => all.includes(name));
    return [...known, ...all.filter((name) => !known.includes(name))];
  }

  place() {
    const names = this.names(), isHidden = (/** @type {string} */ name) => this.layout.hidden.includes(name);
    const of = (/** @type {string} */ name) => /** @type {Placed} */ (this.strips.get(name));
    put(this.grid, names.map((name) => of(name).card));
    put(this.values, names.map((name) => of(name).brief));
    for (const name of names) {
      show(of(name).card, !isHidden(name));
      show(of(name).brief, !isHidden(name));
      of(name).card.classList.toggle("is-large", this.layout.large.includes(name));
    }
    const gone = names.filter(isHidden);
    show(this.hidden, gone.length > 0);
    fill(this.hidden, "Hidden: ", gone.map((name) => el("button", { type: "button", "aria-label": `Show ${name} again`, onclick: () => this.toggle("hidden", name) }, name)));
  }

  /** @param {string} name @param {HTMLElement} card */
  equip(name, card) {
    const item = (/** @type {string} */ words, /** @type {() => void} */ act) => el("li", {}, el("button", { type: "button", onclick: () => { menu.open = false; act(); } }, words));
    const menu = /** @type {HTMLDetailsElement} */ (el("details", { class: "menu card-tools" },
      el("summary", { "aria-label": `Limits and place of ${name}`, title: "Limits, move, enlarge, hide" }, "⋯"),
      el("ul", {}, item("All limits", () => editLimits(name)), item("Move earlier", () => this.move(name, -1)), item("Move later", () => this.move(name, 1)),
        item("Enlarge or shrink", () => this.toggle("large", name)), item("Hide", () => this.toggle("hidden", name)))));
    menu.addEventListener("keydown", (event) => { if (event.key === "Escape") { menu.open = false; menu.querySelector("summary")?.focus(); } });
    menu.addEventListener("focusout", (event) => { if (!menu.contains(/** @type {Node | null} */ (event.relatedTarget))) menu.open = false; });
    card.querySelector(".row")?.append(menu);
    const title = /** @type {HTMLElement} */ (card.querySelector("h3"));
    title.draggable = true;
    title.title = "Drag to move";
    title.addEventListener("dragstart", (event) => {
      this.dragged = name;
      event.dataTransfer?.setData("text/plain", name);
      event.dataTransfer?.setDragImage(card, 20, 20);
      card.classList.add("is-dragged");
    });
    title.addEventListener("dragend", () => { card.classList.remove("is-dragged"); this.dragged = undefined; });
  }

  /** A dragged card takes the place of the one under the pointer. @param {DragEvent} event */
  over(event) {
    const target = event.target instanceof Element ? event.target.closest("[data-channel]") : null, name = target?.getAttribute("data-channel");
    if (!this.dragged) return;
    event.preventDefault();
    if (!name || name === this.dragged) return;
    const names = this.names(), to = names.indexOf(name);
    this.order(names.filter((n) => n !== this.dragged).toSpliced(to, 0, this.dragged));
  }

  /** @param {string} name @param {number} by */
  move(name, by) {
    const seen = this.names().filter((n) => !this.layout.hidden.includes(n)), other = seen[seen.indexOf(name) + by];
    if (!other) return;
    const names = this.names(), [from, to] = [names.indexOf(name), names.indexOf(other)];
    this.order(names.toSpliced(from, 1).toSpliced(to, 0, name));
    /** @type {HTMLElement | null | undefined} */ (this.strips.get(name)?.card.querySelector("summary"))?.focus();
  }

  /** @param {string[]} names */
  order(names) { this.layout.order = names; this.changed(); }

  /** @param {"hidden" | "large"} kind @param {string} name */
  toggle(kind, name) {
    const list = this.layout[kind];
    this.layout[kind] = list.includes(name) ? list.filter((n) => n !== name) : [...list, name];
    this.changed();
  }

  changed() {
    try { localStorage.setItem(KEPT, JSON.stringify({ ...stored(), [this.suite]: this.layout })); } catch { /* a private window stores nothing */ }
    this.place();
    this.onChange();
  }
}

/** @returns {Record<string, Partial<Layout>>} */
function stored() {
  try { return JSON.parse(localStorage.getItem(KEPT) ?? "{}"); } catch { return {}; }
}

/** Children in this order; they are only moved if they are not there yet, so that focus is kept. @param {HTMLElement} parent @param {HTMLElement[]} children */
function put(parent, children) {
  if (parent.children.length !== children.length || children.some((child, i) => child !== parent.children[i])) parent.replaceChildren(...children);
}
