// @ts-check
// Which channels are shown: a list by family with a filter.

import { el, fill, show } from "./dom.js";

export class Choice {
  /** `onChoice(names or null)`; null is all. */
  constructor(onChoice) {
    this.onChoice = onChoice;
    this.words = el("summary", {}, "Channels");
    this.list = el("div", { class: "choice-list" });
    this.filter = el("input", { type: "search", "aria-label": "Filter channels", placeholder: "filter", autocomplete: "off", spellcheck: "false", oninput: () => this.sift() });
    const button = (text, is) => el("button", { type: "button", onclick: () => this.setAll(is) }, text);
    this.element = el("details", { class: "menu", id: "choice" }, this.words,
      el("div", { class: "choice" }, el("div", { class: "row" }, this.filter, button("All", true), button("None", false)), this.list));
    addEventListener("click", (event) => { if (!this.element.contains(/** @type {Node} */ (event.target))) this.element.open = false; });
    this.element.addEventListener("keydown", (event) => { if (event.key === "Escape") { this.element.open = false; this.words.focus(); } });
  }

  build(view) {
    this.boxes = new Map();
    const box = (channel) => {
      const input = el("input", { type: "checkbox", checked: true, onchange: () => this.tell() });
      const label = el("label", { class: "check" }, input, el("span", {}, el("b", {}, channel.name), ` ${channel.long_name}`));
      this.boxes.set(channel.name, { input, label, text: `${channel.name} ${channel.long_name} ${channel.family}`.toLowerCase() });
      return label;
    };
    fill(this.list, view.families.map(({ name }) => el("fieldset", {}, el("legend", {}, name), view.channels.filter((c) => c.family === name).map(box))));
    this.filter.value = "";
    this.name();
  }

  /** Hide what does not match the filter; All and None apply to the rest. */
  sift() {
    const wanted = this.filter.value.trim().toLowerCase();
    for (const { label, text } of this.boxes.values()) show(label, text.includes(wanted));
    for (const family of this.list.children) show(/** @type {HTMLElement} */ (family), family.querySelector("label:not([hidden])"));
  }

  setAll(is) {
    for (const { input, label } of this.boxes.values()) if (!label.hidden) input.checked = is;
    this.tell();
  }

  set(names) {
    for (const [name, { input }] of this.boxes) input.checked = !names || names.has(name);
    this.name();
  }

  tell() {
    const chosen = [...this.boxes].filter(([, { input }]) => input.checked).map(([name]) => name);
    this.name();
    this.onChoice(chosen.length === this.boxes.size ? null : new Set(chosen));
  }

  name() {
    const count = [...this.boxes.values()].filter(({ input }) => input.checked).length;
    this.words.textContent = `Channels: ${count === this.boxes.size ? "all" : count} ${count === this.boxes.size ? `${count}` : `of ${this.boxes.size}`}`;
  }
}
