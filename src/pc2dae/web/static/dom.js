// Elements. Whatever comes from files or from the server goes in as text, never as HTML.

export const $ = (id) => document.getElementById(id);

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

export const fill = (parent, ...children) => parent.replaceChildren(...children.flat().filter(Boolean));

export const show = (element, is) => { element.hidden = !is; };

const colours = new Map();
addEventListener("theme", () => colours.clear());

/** A colour of the style sheet by its role; asked for often while drawing, so remembered. */
export function colour(name) {
  if (!colours.has(name)) colours.set(name, getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim());
  return colours.get(name);
}

export function option(value, text, more = {}) {
  return el("option", { value, ...more }, text);
}

/** Rows of cells under a head; `text` columns stand left, `wide` ones wrap; a row may be {cells, kind, go, best}. */
export function table(head, rows, { text = [0], wide = [], caption = "", kind = null } = {}) {
  const side = (i) => [text.includes(i) && "text", wide.includes(i) && "wide"].filter(Boolean).join(" ") || null;
  const line = (row) => {
    const { cells, kind: look, go, best = [] } = Array.isArray(row) ? { cells: row } : row;
    const tds = cells.map((cell, i) => {
      const inner = i === 0 && go ? el("button", { type: "button", class: "link", "aria-label": `Show plume ${cell}`, onclick: go }, cell) : cell;
      return el(i === 0 ? "th" : "td", { class: [side(i), best.includes(i) && "best"].filter(Boolean).join(" ") || null, scope: i === 0 ? "row" : null }, inner);
    });
    return el("tr", { class: [look, go && "goes"].filter(Boolean).join(" ") || null, onclick: go ? (e) => e.target.tagName !== "BUTTON" && go(e) : null }, tds);
  };
  return el("div", { class: kind ? `scroll ${kind}` : "scroll", tabindex: "0", role: "region", "aria-label": caption || head.filter(Boolean).join(", ") },
    el("table", {}, el("thead", {}, el("tr", {}, head.map((h, i) => el("th", { class: side(i), scope: "col" }, h)))), el("tbody", {}, rows.map(line))));
}

/** Ask before something is lost; true when the person means it. */
export function ask(words, yes) {
  const dialog = $("ask");
  $("ask-words").textContent = words;
  $("ask-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}
