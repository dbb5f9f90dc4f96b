// All channels' panels over one time axis. A panel is drawn while it is in view; zoomed into, finer series replace the coarse.

import { $, el, fill } from "./dom.js";
import { Plot } from "./plot.js";
import { isNumber, number, percent, units } from "./words.js";

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
    const map = el("button", { type: "button", title: "Colour the track by it", "aria-label": `Colour the track by ${channel.name}`, "aria-pressed": "false", onclick: () => this.onMap(channel.name) }, "◎");
    const tall = el("button", { type: "button", title: "Larger or smaller", "aria-label": `Draw ${channel.name} larger or smaller`, onclick: () => plot.element.classList.toggle("tall") }, "↕");
    this.panels.set(channel.name, { channel, plot, summary, words, map, isSeen: false, isStale: true });
    return el("div", { class: "card panel", "data-channel": channel.name },
      el("div", { class: "panel-head" }, el("h4", {}, channel.name, el("span", { class: "note" }, `${channel.long_name ?? ""} [${units(channel.units)}]`)), summary, map, tall), plot.element);
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
  get isFine() {
    const time = this.fine?.[0].time;
    return Boolean(time?.length) && time[0] - 2000 <= this.range[0] && time.at(-1) + 2000 >= this.range[1] && this.visible.every((name) => this.fine[0].channels[name]);
  }

  seen(entries) {
    for (const entry of entries) for (const panel of this.panels.values()) if (panel.plot.element === entry.target) panel.isSeen = entry.isIntersecting;
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
    const fine = this.fine?.[layer], time = fine?.time;
    return fine?.channels[name] && time.length && time[0] - 2000 <= this.range[0] && time.at(-1) + 2000 >= this.range[1] ? fine : null;
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
