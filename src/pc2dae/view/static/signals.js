// @ts-check
// Timeline, panels and map of a flight over one range of time; the page and the report use the same.

import { Choice } from "./choice.js";
import { $, el, fill, option, show } from "./dom.js";
import { flagHelp, legendOf } from "./legend.js";
import { FlightMap, mapCard } from "./map.js";
import { Panels } from "./panels.js";
import { Timeline } from "./timeline.js";
import { chooseZone, localName, zoneChoice } from "./zone.js";

const AROUND_MS = 30_000; // shown before and after a plume
const SETTLED_MS = 350; // without change after which a zoom can be undone as one
const MOST_UNDONE = 50;
const HELP = "Range of time shown in all panels. Arrow keys move it, plus and minus zoom, Home shows the whole flight, Backspace undoes a zoom.";

function skeleton(choice) {
  const button = (id, text, label) => el("button", { type: "button", id, "aria-label": label, title: label }, text);
  return [
    el("div", { class: "timeline" },
      el("canvas", { id: "timeline", tabindex: "0", role: "slider", "aria-label": HELP, "aria-valuemin": "0", "aria-valuemax": "100" }),
      el("div", { class: "row" }, el("output", { id: "range-words", class: "note" }),
        el("div", { class: "row push" },
          el("div", { id: "plume-steps", class: "row" }, el("span", { id: "plume-name", class: "note" }), button("plume-previous", "◂", "Previous plume"), button("plume-next", "▸", "Next plume")),
          button("zoom-undo", "↶", "Undo zoom"), button("plume-all", "Whole flight")))),
    el("div", { class: "row", id: "view-tools" }, choice, el("label", { class: "zone" }, "Times in ", el("select", { id: "time-zone" }))),
    el("ul", { class: "key", id: "key" }),
    el("div", { id: "flag-explanations" }),
    el("output", { id: "reading", class: "unseen", "aria-live": "polite" }),
    el("div", { class: "flight", id: "grid" },
      mapCard(),
      el("div", { id: "panels" })),
  ];
}

export class Signals {
  /** @type {Schemas["Series"][]} */ layers;
  /** @type {{time: number, note: string}[]} */ marks;
  /** @type {() => void} */ onChange;
  /** @type {((range: [number, number]) => void) | null} */ marking = null; // a drag marks a period instead of zooming
  /** @type {any} */ onPoint;
  /** @type {any} */ onState;
  /** @type {[number, number]} */ span;
  /** @type {string} */ title;
  /** @type {Schemas["FlightShown"]} */ view;
  /** `onChange()` when the range or the panels in view have changed, `onState(state, isStep)` when what a link should show has. */
  constructor(onChange = () => {}, onState = () => {}) {
    Object.assign(this, { onChange, onState, past: [], marks: [], title: "", onPoint: () => {} }); // a time is marked in all panels, or null
    this.choice = new Choice((names) => { this.panels.choose(names); this.tellState(); });
    $("signals").append(...skeleton(this.choice.element));
    this.panels = new Panels({
      onRange: (range) => this.setRange(range), onSelect: (range) => (this.marking ?? ((r) => this.setRange(r)))(range), onVertical: (name, range) => this.setVertical(name, range), onLog: () => this.tellState(),
      onHover: (ms) => { this.map.point(ms); this.onPoint(ms); }, onMap: (name) => this.choose(name), onSeen: onChange,
    });
    this.map = new FlightMap({
      onChannel: (name) => this.choose(name), onHover: (ms) => this.panels.point(ms, null), onPlume: (index) => this.goToPlume(index),
    });
    this.timeline = new Timeline($("timeline"), $("range-words"), (range) => this.setRange(range));
    $("plume-next").addEventListener("click", () => this.goToPlume(this.step + 1));
    $("plume-previous").addEventListener("click", () => this.goToPlume(this.step < 0 ? -1 : this.step - 1));
    $("plume-all").addEventListener("click", () => { this.panels.vertical.clear(); this.setRange(null); });
    $("zoom-undo").addEventListener("click", () => this.undo());
    $("time-zone").addEventListener("change", (event) => { chooseZone(event.target.value); this.redraw(); this.tellState(); });
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("theme", () => { if (this.layers) this.redraw(); });
  }

  /** Create the cards of another flight; `set` provides its data. */
  build(view) {
    clearTimeout(this.settling);
    Object.assign(this, { view, layers: null, channel: null, span: [view.start, view.end], range: [view.start, view.end], past: [], step: -1 });
    this.panels.build(view);
    this.choice.build(view);
    this.map.build(view);
    fill($("time-zone"), option("utc", "UTC"), option("local", `local time (${localName(view.start)})`));
    $("time-zone").value = zoneChoice();
    this.settled = this.zoom;
    this.offerUndo();
  }

  /** The legend of one of the layers; `names` are those of the run and of the one it is compared with. */
  setLegend(names, layer = 0) { fill($("key"), legendOf(Object.values(this.layers[layer].channels), this.view, this.panels, names)); }

  /** The data to draw: `layers` are [series, series compared with or null]; `names` are their labels in the legend, `marks` [{time, note}] of the flight. */
  set({ view, layers, track, names = [], marks = this.marks, title = this.title }) {
    view.flag_words ??= {}; // of a flight that was read by an older version
    Object.assign(this, { view, layers, marks, title });
    this.map.set(track === undefined ? this.map.track : track, view);
    this.channel ??= view.channels.find((c) => c.name === view.first) ?? view.channels[0];
    const all = Object.values(layers[0].channels);
    this.setLegend(names);
    fill($("flag-explanations"), flagHelp(all, view));
    this.nameStep(Math.min(this.step, view.intervals.length - 1));
    this.panels.set({ view, layers, range: this.range, marks, title });
    this.choose(this.channel.name);
    this.onChange();
  }

  redraw() {
    this.panels.fine = null;
    this.panels.set({ view: this.view, layers: this.layers, range: this.range, marks: this.marks, title: this.title });
    for (const { chart } of this.panels.panels.values()) chart.plot?.redraw(true, true); // colours and labels
    this.drawRange();
    this.onChange();
  }

  choose(name) {
    this.channel = this.view.channels.find((c) => c.name === name) ?? this.channel;
    this.panels.mark(this.channel.name);
    this.drawRange();
  }

  drawRange() {
    const { layers, channel, span, range, view, marks } = this, mine = layers?.[0].channels[channel.name];
    if (!mine) return;
    this.timeline.set({ span, range, time: layers[0].time, values: mine.estimate ?? mine.raw, plumes: view.intervals, marks });
    this.drawMap();
  }

  drawMap() {
    const { channel, layers: [whole], range } = this;
    this.map.draw({ channel, series: this.panels.finerOf(0, channel.name) ?? whole, whole, range });
  }

  /** Show a range of time everywhere; null is the whole flight. */
  setRange(range) {
    if (!this.layers) return;
    this.range = range ? this.timeline.within(range) : this.span.slice();
    if (!range) this.nameStep(-1);
    this.timeline.setRange(this.range);
    this.panels.setRange(this.range);
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => this.drawMap(), 120);
    this.onChange();
    this.settleSoon();
  }

  /** Show a range of values of one channel; null is all. */
  setVertical(name, range) {
    if (range) this.panels.vertical.set(name, range);
    else this.panels.vertical.delete(name);
    this.panels.redraw();
    this.settleSoon();
  }

  // A zoom: the range or null for the whole flight, the number of the plume, ranges of values by channel.
  get zoom() {
    const { range, span, step, panels } = this, isWhole = range[0] <= span[0] && range[1] >= span[1];
    return { range: isWhole ? null : range.map(Math.round), step, vertical: [...panels.vertical] };
  }

  apply({ range, step, vertical }) {
    this.panels.vertical = new Map(vertical);
    this.setRange(range);
    this.nameStep(step);
  }

  settleSoon() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.settle(), SETTLED_MS);
  }

  /** The zoom is at rest: the one before it can be returned to. */
  settle() {
    clearTimeout(this.settling);
    const { zoom } = this;
    if (JSON.stringify(zoom) === JSON.stringify(this.settled)) return;
    this.past = [...this.past, this.settled].slice(-MOST_UNDONE);
    this.settled = zoom;
    this.offerUndo();
    this.tellState(true);
  }

  undo() {
    this.settle();
    const before = this.past.pop();
    if (!before) return;
    this.apply(before);
    clearTimeout(this.settling);
    this.settled = this.zoom;
    this.offerUndo();
    this.tellState(true);
  }

  offerUndo() { $("zoom-undo").disabled = !this.past.length; }

  key(event) {
    const isUndo = event.key === "Backspace" || (event.key === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey);
    if (!isUndo || !this.layers || !$("signals").offsetHeight || event.target.closest("input, textarea, select, [contenteditable]")) return;
    event.preventDefault();
    this.undo();
  }

  /** What a link shows: zoom at rest, channels (null: all), logarithmic axes, zone. */
  get state() {
    const { chosen, log } = this.panels;
    return { ...this.settled, channels: chosen && [...chosen], log: [...log], zone: zoneChoice() };
  }

  /** Show what a link says; what it does not name is as at the start. */
  restore({ range = null, step = -1, vertical = [], channels = null, log = [], zone = null }) {
    const known = (name) => this.panels.panels.has(name), names = channels && new Set(channels.filter(known));
    if (zone) chooseZone(zone, false);
    $("time-zone").value = zoneChoice();
    this.choice.set(names);
    this.panels.choose(names);
    this.panels.setLog(new Set(log.filter(known)));
    this.apply({ range, step: Math.min(step, this.view.intervals.length - 1), vertical: vertical.filter(([name]) => known(name)) });
    clearTimeout(this.settling);
    this.settled = this.zoom;
  }

  tellState(isStep = false) { this.onState(this.state, isStep); }

  /** Show a plume and mark it in all panels; `isFar` where the user is elsewhere on the page. */
  goToPlume(index, isFar = false) {
    const { intervals } = this.view;
    if (!intervals.length) return;
    const step = ((index % intervals.length) + intervals.length) % intervals.length;
    this.setRange([intervals[step][0] - AROUND_MS, intervals[step][1] + AROUND_MS]);
    this.nameStep(step);
    const { top } = this.panels;
    if (!isFar || !top) return;
    top.card.scrollIntoView();
    top.chart.element.focus({ preventScroll: true });
    $("reading").textContent = `Plume ${step + 1} of ${intervals.length} is marked in all panels`;
  }

  nameStep(index) {
    this.step = index;
    const { intervals } = this.view, count = intervals.length;
    show($("plume-steps"), count > 0);
    $("plume-name").textContent = index < 0 ? `${count} plume${count === 1 ? "" : "s"}` : `Plume ${index + 1} of ${count}`;
    this.panels.marked = intervals[index] ?? null;
    this.panels.redraw();
  }
}
