// @ts-check
// The panels of the chosen channels over one time axis, each drawn while in view; zooming loads finer series.

import { isDrawable } from "./axes.js";
import { Chart } from "./chart.js";
import { $, el, fill, show } from "./dom.js";
import { TARGETS } from "./format.js";
import { picture, savePicture } from "./picture.js";

const EDGE_MS = 2000; // tolerance by which a series may start late or end early in the requested range

export class Panels {
  /** @type {any[]} */ opened;
  /** @type {Schemas["Series"][]} */ layers;
  /** @type {any} */ marked;
  /** @type {{time: number, note: string}[]} */ marks;
  /** @type {any} */ onHover;
  /** @type {any} */ onLog;
  /** @type {any} */ onMap;
  /** @type {any} */ onRange;
  /** @type {any} */ onSelect;
  /** @type {any} */ onSeen;
  /** @type {any} */ onVertical;
  /** @type {string} */ title;
  /** @type {Map<string, [number, number]>} */ vertical;
  /** @type {Schemas["FlightShown"]} */ view;
  /** `onRange(range)`, `onSelect(range)` after a drag and `onVertical(name, range)` when the user zooms, `onLog()`, `onHover(ms)`, `onMap(name)`, `onSeen()` when other panels came into view. */
  constructor(callbacks) {
    Object.assign(this, callbacks, { layers: null, fine: null, isSwapped: false, hidden: new Set(), log: new Set(), chosen: null, vertical: new Map(), marked: null, marks: [], title: "" });
    this.panels = new Map();
    this.watcher = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "400px" });
    addEventListener("beforeprint", () => this.print());
    addEventListener("afterprint", () => {
      for (const drawing of document.querySelectorAll(".printed")) drawing.remove();
      for (const details of this.opened ?? []) details.open = false;
    });
  }

  /** Cards for the channels of a view; families that were not denoised while others were are collapsed. */
  build(view) {
    this.watcher.disconnect();
    for (const { chart } of this.panels.values()) chart.forget();
    this.panels.clear();
    Object.assign(this, { layers: null, fine: null, log: new Set(), chosen: null, vertical: new Map(), marked: null });
    fill($("panels"), view.families.map(({ name, is_open }) => {
      const cards = view.channels.filter((c) => c.family === name).map((channel) => this.card(channel));
      if (is_open) return el("section", { class: "family" }, el("h3", { class: "family-title" }, name), ...cards);
      return el("details", { class: "family" }, el("summary", {}, `${name}: excluded, shown as measured (see Quality)`), ...cards);
    }), el("p", { class: "soft none", hidden: true }, "No channel is chosen."));
    for (const { chart } of this.panels.values()) this.watcher.observe(chart.element);
  }

  card(channel) {
    const chart = new Chart(channel, {
      onRange: this.onRange, onSelect: this.onSelect, onVertical: (range) => this.onVertical(channel.name, range), onHover: (ms, source) => this.point(ms, source), onRead: (source) => this.read(source),
    });
    const summary = el("p", { class: "note summary" }, channel.summary);
    const button = (text, title, onclick) => el("button", { type: "button", title, "aria-label": `${title}: ${channel.name}`, onclick }, text);
    const log = button("log", "Logarithmic axis", () => this.toggleLog(channel.name));
    const map = button("◎", "Colour the map by this channel", () => this.onMap(channel.name));
    const tall = button("↕", "Larger or smaller", () => chart.element.classList.toggle("tall"));
    const save = (format) => el("li", {}, el("button", { type: "button", "data-save": format, onclick: () => { menu.open = false; savePicture(chart, this.title, this.view.flag_kinds, format); } }, `Save as ${format.toUpperCase()}`));
    const menu = el("details", { class: "menu picture" }, el("summary", { "aria-label": `Save a picture of ${channel.name}`, title: "Save a picture" }, "⤓"), el("ul", {}, save("png"), save("svg")));
    const target = el("span", { class: "target" });
    const name = el("h4", { title: channel.long_name }, channel.name, target, el("span", { class: "note" }, [channel.units, channel.long_name].filter(Boolean).join(" · ")));
    const card = el("div", { class: "card panel", "data-channel": channel.name }, el("div", { class: "panel-head" }, name, summary, el("div", { class: "panel-tools" }, log, map, tall, menu)), chart.element);
    this.panels.set(channel.name, { channel, chart, card, summary, target, map, log, isSeen: false, isStale: true });
    return card;
  }

  /** New data: `layers` are [series of the run, of the run it is compared with or null] over the whole flight. */
  set({ view, layers, range, marks, title }) {
    Object.assign(this, { view, layers, range, marks, title, fine: null });
    for (const panel of this.panels.values()) {
      const { name, summary, target } = view.channels.find((c) => c.name === panel.channel.name);
      Object.assign(panel, { encounters: view.encounters.filter((e) => e.channel === name), words: summary });
      panel.summary.textContent = summary;
      panel.summary.classList.remove("is-reading");
      panel.chart.tip.hidden = true;
      panel.target.textContent = panel.target.dataset.target = target;
      panel.target.title = TARGETS[target] ?? "";
    }
    this.redraw();
  }

  /** Finer series for some channels of the range shown. */
  refine(fine) {
    this.fine = fine;
    this.redraw();
  }

  setRange(range) {
    this.range = range;
    this.redraw();
  }

  setHidden(role, is) {
    if (this.hidden.has(role) !== is) this.toggle(role);
  }

  /** Show the run compared with, of some name, in place of the run. */
  setSwapped(is, name) {
    if (this.isSwapped === is) return;
    this.isSwapped = is;
    for (const { channel, summary, target, words } of this.panels.values()) {
      summary.textContent = is ? name : words;
      const shown = this.layers[is ? 1 : 0].channels[channel.name]; // a noise-free reading is given where the lag was corrected
      target.textContent = target.dataset.target = !shown.estimate ? "" : shown.response ? "ambient" : "response";
    }
    this.redraw();
  }

  /** Show only some channels; null is all. */
  choose(names) {
    this.chosen = names;
    for (const { channel, card } of this.panels.values()) show(card, !names || names.has(channel.name));
    for (const family of $("panels").querySelectorAll(".family")) {
      const has = family.querySelector(".panel:not([hidden])");
      show(family, has);
      if (names && has && family.tagName === "DETAILS") family.open = true;
    }
    show($("panels").querySelector(".none"), names?.size === 0);
    this.redraw();
  }

  toggleLog(name) {
    const log = new Set(this.log);
    if (!log.delete(name)) log.add(name);
    this.vertical.delete(name);
    this.setLog(log);
    this.onLog();
  }

  setLog(log) {
    this.log = log;
    for (const [name, panel] of this.panels) panel.log.setAttribute("aria-pressed", String(log.has(name)));
    this.redraw();
  }

  toggle(role) {
    this.hidden = new Set(this.hidden);
    if (!this.hidden.delete(role)) this.hidden.add(role);
    this.redraw();
  }

  redraw() {
    for (const panel of this.panels.values()) panel.isStale = true;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  get visible() { return [...this.panels.values()].filter((p) => p.isSeen).map((p) => p.channel.name); }

  /** Whether the finer series cover the range shown for all panels in view. */
  get isFine() { return this.visible.every((name) => this.finerOf(0, name)); }

  seen(entries) {
    const places = new Map(entries.map((entry) => [entry.target, entry.isIntersecting]));
    for (const panel of this.panels.values()) panel.isSeen = places.get(panel.chart.element) ?? panel.isSeen;
    this.draw();
    this.onSeen();
  }

  draw() {
    if (!this.layers) return;
    const { range, hidden, marked, marks } = this;
    for (const panel of this.panels.values()) {
      const { channel: { name }, chart, encounters } = panel;
      if (!panel.isSeen || !panel.isStale || !chart.element.clientWidth) continue;
      panel.isStale = false;
      const pair = this.layers.map((coarse, i) => this.finerOf(i, name) ?? coarse), [series, other] = this.isSwapped && pair[1] ? pair.toReversed() : pair;
      const isLog = this.log.has(name), shown = { series, other, encounters, hidden, isLog, marked, marks, clean: this.view.clean_air }, asked = this.vertical.get(name), zoomed = asked && isDrawable(asked, isLog) ? asked : null;
      if (Object.entries(shown).every(([key, value]) => chart.shown?.[key] === value)) chart.setRange(range, zoomed);
      else chart.set(shown, range, zoomed);
    }
  }

  finerOf(layer, name) {
    const fine = this.fine?.[layer], time = fine?.time ?? [];
    const covers = time.length > 0 && time[0] - EDGE_MS <= this.range[0] && time.at(-1) + EDGE_MS >= this.range[1];
    return covers && fine.channels[name] ? fine : null;
  }

  /** Show the cursor at a time in all panels; each panel shows its values there, `source` explains its flags. */
  point(ms, source) {
    for (const { isSeen, chart, summary, words } of this.panels.values()) {
      if (!isSeen) continue;
      const reading = chart.point(ms, chart === source);
      summary.textContent = reading ?? words;
      summary.classList.toggle("is-reading", reading !== null);
      if (chart === source && reading !== null) chart.explain(this.view.flag_words);
    }
    this.onHover(ms);
  }

  /** Read the values at the cursor of a panel out to a screen reader. */
  read(chart) {
    const { summary } = this.panels.get(chart.channel.name), flags = chart.explain(this.view.flag_words);
    clearTimeout(this.reading);
    this.reading = setTimeout(() => { $("reading").textContent = `${chart.channel.name}: ${summary.textContent}. ${flags}`; }, 150);
  }

  mark(name) {
    for (const panel of this.panels.values()) panel.map.setAttribute("aria-pressed", String(panel.channel.name === name));
  }

  /** The first panel that is shown. */
  get top() { return [...this.panels.values()].find(({ card }) => card.offsetHeight); }

  /** Draw all panels as vectors, those never seen too. */
  print() {
    this.opened = [...document.querySelectorAll("main details:not(.menu, [open])")];
    for (const details of this.opened) details.open = true;
    for (const panel of this.panels.values()) Object.assign(panel, { isSeen: true, isStale: true });
    this.draw();
    for (const { chart } of this.panels.values()) if (chart.shown && chart.element.clientWidth) chart.element.after(printed(picture(chart, this.title, this.view.flag_kinds)));
  }
}

function printed(drawing) {
  drawing.classList.add("printed");
  return drawing;
}
