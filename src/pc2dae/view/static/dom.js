// @ts-check
// Elements. Text from files or from the server is inserted as text, never as HTML.

/** The element with an id; its kind follows from the page, hence `any`. @type {(id: string) => any} */
export const $ = (id) => document.getElementById(id);

/** An element with attributes (`on…`: event listeners) and children; empty ones are left out.
 * @template {keyof HTMLElementTagNameMap} K @param {K} tag @param {Record<string, any>} [attributes] @param {any[]} children */
export function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** @param {Element} parent @param {any[]} children */
export const fill = (parent, ...children) => parent.replaceChildren(...children.flat().filter(Boolean));

/** @param {HTMLElement} element @param {any} is */
export const show = (element, is) => { element.hidden = !is; };

const colours = new Map();
export const forgetColours = () => colours.clear();
addEventListener("theme", forgetColours);

/** A colour of the style sheet by its role; cached, because drawing uses it often. */
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colours.get(name);
}

export function option(value, text, more = {}) {
  return el("option", { value, ...more }, text);
}

const classes = (...names) => names.filter(Boolean).join(" ") || null;

/** A table as pc2dae.view.formatting.Table has it; `go(plume)` is called for a row of a plume encounter. */
/** @typedef {{head: string[], rows: {cells: any[], kind?: string, plume?: number | null, best?: number[]}[], text?: number[], wide?: number[], title?: string, lead?: string, note?: string}} Table */

/** @param {Table} table @param {{go?: ((plume: number) => void) | null, kind?: string | null}} [options] */
export function table({ head, rows, text = [0], wide = [], title = "" }, { go = null, kind = null } = {}) {
  const side = (i) => classes(text.includes(i) && "text", wide.includes(i) && "wide");
  /** @param {Table["rows"][number]} row */
  const line = ({ cells, kind: look, plume = null, best = [] }) => {
    const follow = go && plume !== null && (() => go(plume));
    const link = (cell) => el("button", { type: "button", class: "link", "aria-label": `Show plume ${cell}`, onclick: follow }, cell);
    const first = el("th", { class: side(0), scope: "row" }, follow ? link(cells[0]) : cells[0]);
    const others = cells.slice(1).map((cell, i) => el("td", { class: classes(side(i + 1), best.includes(i + 1) && "best") }, cell));
    const onclick = follow && ((event) => event.target.tagName !== "BUTTON" && follow());
    return el("tr", { class: classes(look, follow && "clickable"), onclick }, first, others);
  };
  const heading = el("thead", {}, el("tr", {}, head.map((h, i) => el(h ? "th" : "td", { class: side(i), scope: h ? "col" : null }, h))));
  return el("div", { class: classes("scroll", kind), tabindex: "0", role: "region", "aria-label": title },
    el("table", {}, heading, el("tbody", {}, rows.map(line))));
}

/** Tables with their titles, leads and notes. */
/** @param {Table[]} list @param {Parameters<typeof table>[1]} [options] */
export const tables = (list, options) => list.flatMap((t) => [
  t.title && el("h3", {}, t.title), t.lead && el("p", { class: "soft" }, t.lead), table(t, options), t.note && el("p", { class: "note" }, t.note),
]);

/** Ask before something is deleted; true if confirmed. */
export function ask(words, yes) {
  const dialog = $("ask");
  $("ask-words").textContent = words;
  $("ask-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
