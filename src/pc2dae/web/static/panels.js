// All channels' panels over one time axis. A panel is drawn while it is in view; zoomed into, finer series replace the coarse.

import { $, el, fill } from "./dom.js";
import { Plot } from "./plot.js";
import { isNumber, number, percent, units } from "./words.js";

const EDGE_MS = 2000; // a series may begin and end that much inside of what it was asked for

export class Panels {
  /** `onRange(range)` when a person zooms, `onHover(ms)`, `onMap(name)`, `onSeen()` when other panels came into view. */
  constructor({ onRange, onHover, onMap, onSeen }) {
    Object.assign(this, { onRange, onHover, onMap, onSeen, layers: null, fine: null });
    this.panels = new Map();
    this.watcher = new IntersectionObserver((entries) => this.seen(entries), { rootMargin: "400px" });
  }

  /** Cards for a flight's channels; families left as logged beside others that were not are folded away. */
  build(detail, run) {
    this.watcher.disconnect();
    this.panels.clear();
    this.layers = this.fine = null;
    const kept = new Set(detail.verdicts.filter((v) => v.kept).map((v) => v.family));
    const families = new Map();
    for (const channel of detail.channels) families.set(channel.family, [...(families.get(channel.family) ?? []), channel]);
    fill($("panels"), [...families].map(([family, channels]) => {
      const cards = channels.map((channel) => this.card(channel, run));
      if (kept.has(family) || !kept.size) return [el("h3", { class: "family-title" }, family), ...cards];
      return el("details", {}, el("summary", {}, `${family}: left as logged, not believed (see below)`), ...cards);
    }).flat());
    for (const { plot } of this.panels.values()) this.watcher.observe(plot.element);
  }

  card(channel, run) {
    const plot = new Plot(channel, { onRange: this.onRange, onHover: (ms) => this.point(ms) });
    const words = summaryOf(channel, run), summary = el("p", { class: "note summary" }, words);
    const button = (sign, title, onclick) => el("button", { type: "button", title, "aria-label": `${title}: ${channel.name}`, onclick }, sign);
    const map = button("◎", "Colour the track by it", () => this.onMap(channel.name));
    const tall = button("↕", "Larger or smaller", () => plot.element.classList.toggle("tall"));
    const name = el("h4", {}, channel.name, el("span", { class: "note" }, `${channel.long_name ?? ""} [${units(channel.units)}]`));
    this.panels.set(channel.name, { channel, plot, summary, words, map, isSeen: false, isStale: true });
    const head = el("div", { class: "panel-head" }, name, summary, map, tall);
    return el("div", { class: "card panel", "data-channel": channel.name }, head, plot.element);
  }

  /** New data: `layers` are [series of the run, of the one beside it or null] over the whole flight. */
  set({ layers, encounters, range, run }) {
    Object.assign(this, { layers, encounters, range, fine: null });
    for (const panel of this.panels.values()) {
      panel.isStale = true;
      panel.summary.textContent = panel.words = summaryOf(panel.channel, run);
    }
    this.draw();
  }

  /** Finer series for some channels of the stretch shown. */
  refine(fine) {
    this.fine = fine;
    for (const name of Object.keys(fine[0].channels)) this.panels.get(name).isStale = true;
    this.draw();
  }

  /** Show another stretch with the data at hand. */
  setRange(range) {
    this.range = range;
    for (const panel of this.panels.values()) panel.isStale = true;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  get visible() { return [...this.panels.values()].filter((p) => p.isSeen).map((p) => p.channel.name); }

  /** Whether the finer series at hand hold the stretch shown for what is in view. */
  get isFine() { return this.visible.every((name) => this.finerOf(0, name)); }

  seen(entries) {
    const places = new Map(entries.map((entry) => [entry.target, entry.isIntersecting]));
    for (const panel of this.panels.values()) panel.isSeen = places.get(panel.plot.element) ?? panel.isSeen;
    this.draw();
    this.onSeen();
  }

  draw() {
    if (!this.layers) return;
    for (const panel of this.panels.values()) {
      const { channel, plot } = panel;
      if (!panel.isSeen || !panel.isStale || !this.layers[0].channels[channel.name]) continue;
      panel.isStale = false;
      const [series, other] = this.layers.map((coarse, i) => this.finerOf(i, channel.name) ?? coarse);
      plot.set({ series, other, encounters: this.encounters.get(channel.name) ?? [], range: this.range });
    }
  }

  finerOf(layer, name) {
    const fine = this.fine?.[layer], time = fine?.time ?? [];
    const holds = time.length > 0 && time[0] - EDGE_MS <= this.range[0] && time.at(-1) + EDGE_MS >= this.range[1];
    return holds && fine.channels[name] ? fine : null;
  }

  point(ms) {
    for (const { isSeen, plot, summary, words } of this.panels.values()) {
      if (!isSeen) continue;
      const reading = plot.point(ms);
      summary.textContent = reading ?? words;
      summary.classList.toggle("is-reading", reading !== null);
    }
    this.onHover(ms);
  }

  mark(name) {
    for (const panel of this.panels.values()) panel.map.setAttribute("aria-pressed", String(panel.channel.name === name));
  }
}

function summaryOf(channel, run) {
  const after = run?.channels?.[channel.name] ?? {};
  if (!isNumber(channel.noise)) return channel.observed ? "" : "nothing measured";
  let words = `noise σ ${number(channel.noise, 2)}`;
  if (isNumber(after.uncertainty)) words += ` → ${number(after.uncertainty, 2)}`;
  words += ` ${units(channel.units)}`;
  if (channel.below > 0 && isNumber(after.below)) words += ` · below bound ${percent(channel.below, 0)} → ${percent(after.below, 0)}`;
  if (isNumber(channel.t90_s)) words += ` · t90 ${number(channel.t90_s, 2)} s`;
  return words;
}
