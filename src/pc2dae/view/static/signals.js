// Timeline, panels and map of a flight over one range of time; the page and the report use the same.

import { $, el, fill, show } from "./dom.js";
import { FlightMap, mapCard } from "./map.js";
import { Panels } from "./panels.js";
import { Timeline } from "./timeline.js";

const AROUND_MS = 30_000; // shown before and after a plume
const HELP = "Range of time shown in all panels. Arrow keys move it, plus and minus zoom, Home shows the whole flight.";

function skeleton() {
  const button = (id, text, label) => el("button", { type: "button", id, "aria-label": label }, text);
  return [
    el("div", { class: "timeline" },
      el("canvas", { id: "timeline", tabindex: "0", role: "slider", "aria-label": HELP, "aria-valuemin": "0", "aria-valuemax": "100" }),
      el("div", { class: "row" }, el("output", { id: "range-words", class: "note" }),
        el("div", { id: "plume-steps", class: "row push" }, el("span", { id: "plume-name", class: "note" }),
          button("plume-previous", "◂", "Previous plume"), button("plume-next", "▸", "Next plume"), button("plume-all", "Whole flight")))),
    el("ul", { class: "key", id: "key" }),
    el("div", { class: "flight", id: "grid" },
      mapCard(),
      el("div", { id: "panels" })),
  ];
}

export class Signals {
  /** `onChange()` when the range or the panels in view have changed. */
  constructor(onChange = () => {}) {
    this.onChange = onChange;
    $("signals").append(...skeleton());
    this.panels = new Panels({
      onRange: (range) => this.setRange(range), onHover: (ms) => this.map.point(ms), onMap: (name) => this.choose(name), onSeen: onChange,
    });
    this.map = new FlightMap({
      onChannel: (name) => this.choose(name), onHover: (ms) => this.panels.point(ms, null), onPlume: (index) => this.goToPlume(index),
    });
    this.timeline = new Timeline($("timeline"), $("range-words"), (range) => this.setRange(range));
    $("plume-next").addEventListener("click", () => this.goToPlume(this.step + 1));
    $("plume-previous").addEventListener("click", () => this.goToPlume(this.step < 0 ? -1 : this.step - 1));
    $("plume-all").addEventListener("click", () => this.setRange(null));
    addEventListener("theme", () => { if (this.layers) this.redraw(); });
  }

  /** Create the cards of another flight; `set` provides its data. */
  build(view) {
    Object.assign(this, { view, layers: null, channel: null, span: [view.start, view.end], range: [view.start, view.end] });
    this.panels.build(view);
    this.map.build(view);
  }

  /** The data to draw: `layers` are [series, series compared with or null]; `names` are their labels in the legend. */
  set({ view, layers, track, names = [] }) {
    Object.assign(this, { view, layers });
    this.map.set(track === undefined ? this.map.track : track, view);
    this.channel ??= view.channels.find((c) => c.name === view.first) ?? view.channels[0];
    fill($("key"), this.key(names));
    this.nameStep(-1);
    this.panels.set({ view, layers, range: this.range });
    this.choose(this.channel.name);
    this.onChange();
  }

  redraw() {
    this.panels.fine = null;
    this.panels.set({ view: this.view, layers: this.layers, range: this.range });
    this.drawRange();
  }

  /** The legend; its entries for lines toggle their visibility. */
  key([method, other]) {
    const all = Object.values(this.layers[0].channels), kinds = new Set(all.flatMap((c) => c.flags.map((flag) => flag[2])));
    const sign = (role, isBox) => el("i", { class: `k-${role}${isBox ? " box" : ""}` });
    const toggle = (role, words, isBox) => el("li", {}, el("button", {
      type: "button", class: "link", title: "Hide or show", "aria-pressed": String(!this.panels.hidden.has(role)),
      onclick: (event) => { this.panels.toggle(role); event.currentTarget.setAttribute("aria-pressed", String(!this.panels.hidden.has(role))); },
    }, sign(role, isBox), words));
    const kind = all.some((c) => c.response) ? " of the air (ambient) or of the reading (response)" : "";
    return [
      toggle("raw", "raw"),
      all.some((c) => c.estimate) && toggle("estimate", `estimate${kind}${method ? `: ${method}` : ""} (dotted: before the bound)`),
      all.some((c) => c.high) && toggle("band", "90 % interval", true),
      all.some((c) => c.response) && toggle("response", "noise-free reading, with the sensor's lag"),
      other && toggle("other", `compared with: ${other}`),
      all.some((c) => c.truth) && toggle("truth", "truth of the simulation"),
      el("li", {}, sign("plume"), "plume encounter"),
      ...Object.entries(this.view.flag_kinds).filter(([kind]) => kinds.has(Number(kind))).map(([kind, words]) => el("li", { title: words }, sign(`flag${kind}`, true), words.split(" (")[0])),
    ];
  }

  choose(name) {
    this.channel = this.view.channels.find((c) => c.name === name) ?? this.channel;
    this.panels.mark(this.channel.name);
    this.drawRange();
  }

  drawRange() {
    const { layers, channel, span, range, view } = this, mine = layers?.[0].channels[channel.name];
    if (!mine) return;
    this.timeline.set({ span, range, time: layers[0].time, values: mine.estimate ?? mine.raw, plumes: view.intervals });
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
  }

  goToPlume(index) {
    const { intervals } = this.view;
    if (!intervals.length) return;
    const step = ((index % intervals.length) + intervals.length) % intervals.length;
    this.setRange([intervals[step][0] - AROUND_MS, intervals[step][1] + AROUND_MS]);
    this.nameStep(step);
    const box = $("signals").getBoundingClientRect();
    if (box.bottom < 200 || box.top > innerHeight) $("signals").scrollIntoView();
  }

  nameStep(index) {
    this.step = index;
    const count = this.view.intervals.length;
    show($("plume-steps"), count > 0);
    $("plume-name").textContent = index < 0 ? `${count} plume${count === 1 ? "" : "s"}` : `Plume ${index + 1} of ${count}`;
  }
}
