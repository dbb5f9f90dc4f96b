// All channels' panels over one time axis. A panel is drawn when it comes into view and fetched anew when zoomed into.

import { $, el, fill } from "./dom.js";
import { layout, traces, vertical } from "./figure.js";
import { CONFIG, plotly } from "./plotly.js";
import { isNumber, number, percent, units } from "./words.js";

export class Panels {
  /** `onRange(range)` when a person zooms, `onHover(ms)`, `onMap(name)`, `onSeen()` when other panels came into view. */
  constructor({ onRange, onHover, onMap, onSeen }) {
    Object.assign(this, { onRange, onHover, onMap, onSeen });
    this.panels = new Map();
    this.watcher = new IntersectionObserver((entries) => entries.forEach((e) => this.seen(e)), { rootMargin: "300px" });
  }

  /** Cards for a flight's channels; families left as logged beside others that were not are folded away. */
  build(detail, run) {
    this.watcher.disconnect();
    for (const { plot } of this.panels.values()) if (plot.data) window.Plotly.purge(plot);
    this.panels.clear();
    this.layers = this.fine = null;
    const kept = new Set(detail.verdicts.filter((v) => v.kept).map((v) => v.family));
    const families = Map.groupBy ? Map.groupBy(detail.channels, (c) => c.family) : grouped(detail.channels);
    fill($("panels"), [...families].map(([family, channels]) => {
      const cards = channels.map((channel) => this.card(channel, run));
      if (kept.has(family) || !kept.size) return [el("h3", { class: "family-title" }, family), ...cards];
      return el("details", {}, el("summary", {}, `${family}: left as logged, not believed (see below)`), ...cards);
    }).flat());
    for (const { plot } of this.panels.values()) this.watcher.observe(plot);
  }

  card(channel, run) {
    const plot = el("div", { class: "plot", role: "img", "aria-label": `${channel.name} over time: as logged and estimate` });
    const summary = el("p", { class: "note summary" }, summaryOf(channel, run));
    const map = el("button", { type: "button", title: "Colour the track by it", "aria-label": `Colour the track by ${channel.name}`, "aria-pressed": "false", onclick: () => this.onMap(channel.name) }, "◎");
    const tall = el("button", { type: "button", title: "Larger or smaller", "aria-label": `Draw ${channel.name} larger or smaller`, onclick: () => { plot.classList.toggle("tall"); if (plot.data) window.Plotly.Plots.resize(plot); } }, "↕");
    this.panels.set(channel.name, { channel, plot, summary, map, isSeen: false, isStale: true });
    return el("div", { class: "card panel", "data-channel": channel.name },
      el("div", { class: "panel-head" }, el("h4", {}, channel.name, el("span", { class: "note" }, `${channel.long_name ?? ""} [${units(channel.units)}]`)), summary, map, tall), plot);
  }

  /** New data: `layers` are [run's series, those of the run beside it or null], coarse first, finer ones later. */
  set({ layers, encounters, range, run }) {
    Object.assign(this, { layers, encounters, range });
    for (const panel of this.panels.values()) {
      panel.isStale = true;
      panel.summary.textContent = summaryOf(panel.channel, run);
    }
    return this.drawSeen();
  }

  /** Finer series for some channels of the stretch shown; they replace the coarse ones there. */
  refine(fine) {
    this.fine = fine;
    for (const name of Object.keys(fine?.[0]?.channels ?? {})) this.panels.get(name).isStale = true;
    return this.drawSeen();
  }

  seriesOf(name) { return this.layers.map((coarse, i) => (this.fine?.[i]?.channels[name] ? this.fine[i] : coarse)); }

  get visible() { return [...this.panels.values()].filter((p) => p.isSeen).map((p) => p.channel.name); }

  seen(entry) {
    const panel = [...this.panels.values()].find((p) => p.plot === entry.target);
    if (!panel) return;
    panel.isSeen = entry.isIntersecting;
    if (panel.isSeen && panel.isStale) this.drawSeen().then(this.onSeen);
  }

  async drawSeen() {
    if (!this.layers) return;
    const Plotly = await plotly();
    for (const panel of this.panels.values())
      if (panel.isSeen && panel.isStale && this.layers[0].channels[panel.channel.name]) { this.draw(Plotly, panel); await breath(); }
  }

  draw(Plotly, panel) {
    const { channel, plot } = panel;
    panel.isStale = false;
    const isNew = !plot.data;
    const [series, other] = this.seriesOf(channel.name), mine = this.encounters.get(channel.name) ?? [];
    Plotly.react(plot, traces(channel, series, other, mine), layout(this.range, vertical(channel, series, this.range)), CONFIG);
    if (!isNew) return;
    plot.on("plotly_relayout", (change) => {
      // What a person drags arrives as "xaxis.range[0]"; what setRange does does not, so nothing echoes.
      if (change["xaxis.range[0]"]) this.onRange([change["xaxis.range[0]"], change["xaxis.range[1]"]].map(milliseconds));
    });
    plot.on("plotly_hover", (event) => event.points[0] && this.onHover(milliseconds(event.points[0].x)));
    plot.addEventListener("dblclick", () => this.onRange(null));
  }

  /** Show another stretch with the data at hand. */
  setRange(range) {
    this.range = range;
    this.fine = null;
    for (const panel of this.panels.values()) panel.isStale = true;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawSeen());
  }

  mark(name) {
    for (const panel of this.panels.values()) panel.map.setAttribute("aria-pressed", String(panel.channel.name === name));
  }
}

const breath = () => new Promise((resolve) => setTimeout(resolve));
const milliseconds = (x) => (typeof x === "number" ? x : Date.parse(String(x).replace(" ", "T") + "Z"));

function grouped(channels) {
  const families = new Map();
  for (const channel of channels) families.set(channel.family, [...(families.get(channel.family) ?? []), channel]);
  return families;
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
