// The panels of all channels over one time axis, each drawn while in view; zooming loads finer series.

import { Chart } from "./chart.js";
import { $, el, fill } from "./dom.js";
import { TARGETS } from "./format.js";

const EDGE_MS = 2000; // tolerance by which a series may start late or end early in the requested range

export class Panels {
  /** `onRange(range)` when the user zooms, `onHover(ms)`, `onMap(name)`, `onSeen()` when other panels came into view. */
  constructor({ onRange, onHover, onMap, onSeen }) {
    Object.assign(this, { onRange, onHover, onMap, onSeen, layers: null, fine: null, hidden: new Set() });
    this.panels = new Map();
    this.watcher = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "400px" });
    addEventListener("beforeprint", () => { for (const panel of this.panels.values()) panel.isSeen = true; this.draw(); });
  }

  /** Cards for the channels of a view; families that were not denoised while others were are collapsed. */
  build(view) {
    this.watcher.disconnect();
    this.panels.clear();
    this.layers = this.fine = null;
    fill($("panels"), view.families.flatMap(({ name, is_open }) => {
      const cards = view.channels.filter((c) => c.family === name).map((channel) => this.card(channel));
      if (is_open) return [el("h3", { class: "family-title" }, name), ...cards];
      return el("details", {}, el("summary", {}, `${name}: excluded, shown as measured (see Quality)`), ...cards);
    }));
    for (const { chart } of this.panels.values()) this.watcher.observe(chart.element);
  }

  card(channel) {
    const chart = new Chart(channel, { onRange: this.onRange, onHover: (ms, source) => this.point(ms, source) });
    const summary = el("p", { class: "note summary" }, channel.summary);
    const button = (sign, title, onclick) => el("button", { type: "button", title, "aria-label": `${title}: ${channel.name}`, onclick }, sign);
    const map = button("◎", "Colour the map by this channel", () => this.onMap(channel.name));
    const tall = button("↕", "Larger or smaller", () => chart.element.classList.toggle("tall"));
    const target = el("span", { class: "target" });
    const name = el("h4", {}, channel.name, target, el("span", { class: "note" }, `${channel.long_name} [${channel.units}]`));
    this.panels.set(channel.name, { channel, chart, summary, target, map, isSeen: false, isStale: true });
    const head = el("div", { class: "panel-head" }, name, summary, map, tall);
    return el("div", { class: "card panel", "data-channel": channel.name }, head, chart.element);
  }

  /** New data: `layers` are [series of the run, of the run it is compared with or null] over the whole flight. */
  set({ view, layers, range }) {
    Object.assign(this, { layers, range, fine: null });
    for (const panel of this.panels.values()) {
      const { name, summary, target } = view.channels.find((c) => c.name === panel.channel.name);
      Object.assign(panel, { encounters: view.encounters.filter((e) => e.channel === name), words: summary });
      panel.summary.textContent = summary;
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

  toggle(role) {
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
    const { range, hidden } = this;
    for (const panel of this.panels.values()) {
      const { channel, chart, encounters } = panel;
      if (!panel.isSeen || !panel.isStale || !chart.element.clientWidth) continue;
      panel.isStale = false;
      const [series, other] = this.layers.map((coarse, i) => this.finerOf(i, channel.name) ?? coarse);
      if (chart.shown?.series === series && chart.shown.other === other && chart.shown.encounters === encounters && chart.isHidden === [...hidden].join()) chart.setRange(range);
      else chart.set({ series, other, encounters, range, hidden });
      chart.isHidden = [...hidden].join();
    }
  }

  finerOf(layer, name) {
    const fine = this.fine?.[layer], time = fine?.time ?? [];
    const covers = time.length > 0 && time[0] - EDGE_MS <= this.range[0] && time.at(-1) + EDGE_MS >= this.range[1];
    return covers && fine.channels[name] ? fine : null;
  }

  /** Show the cursor at a time in all panels; each panel shows its values there. */
  point(ms, source) {
    for (const { isSeen, chart, summary, words } of this.panels.values()) {
      if (!isSeen) continue;
      const reading = chart.point(ms, chart === source);
      summary.textContent = reading ?? words;
      summary.classList.toggle("is-reading", reading !== null);
    }
    this.onHover(ms);
  }

  mark(name) {
    for (const panel of this.panels.values()) panel.map.setAttribute("aria-pressed", String(panel.channel.name === name));
  }
}
