// @ts-check
// Sensors of one species compared: choose a pair, see its scatter, its figures, and both over time.

import { cleared, line } from "./canvas.js";
import { colour, el, fill, option, show, table } from "./dom.js";
import { count, number, plusMinus, units } from "./format.js";
import { Scatter } from "./scatter.js";
import { shownClock, zoneName } from "./zone.js";

const STRIP_EDGE = { left: 4, right: 4, top: 8, bottom: 18 }; // px

export class Sensors {
  /** @type {any} */ onPair;
  /** @type {any} */ parent;
  /** `onHover(ms or null)` marks a time elsewhere; `onPair(pair)` when the user chooses one.
   * @param {HTMLElement} parent @param {{onHover?: (ms: number | null) => void, onPair?: (pair: any) => void}} [options] */
  constructor(parent, { onHover = () => {}, onPair = () => {} } = {}) {
    Object.assign(this, { parent, onPair, pairs: [], pair: null });
    this.scatter = new Scatter((ms) => { this.mark(ms); onHover(ms); });
    this.strip = el("canvas", { role: "img", "aria-label": "Both sensors over time" });
    this.strip.addEventListener("pointermove", (event) => { const ms = this.timeAt(event.offsetX); this.point(ms); onHover(ms); });
    this.strip.addEventListener("pointerleave", () => { this.point(null); onHover(null); });
    this.choice = el("select", { onchange: (event) => { this.show(this.pairs[Number(event.target.value)]); this.onPair(this.pair); } });
    this.by = el("select", { onchange: () => this.draw() }, option("smoke", "plume or clean air"), option("time", "time"));
    this.part = el("select", { onchange: () => this.draw() }, option("all", "all points"), option("clean", "clean air, enlarged"));
    this.facts = el("div");
    this.note = el("p", { class: "note" });
    fill(parent, el("div", { class: "row sensor-tools" }, el("label", { class: "note" }, "Sensors ", this.choice), el("label", { class: "note" }, "Colour by ", this.by), el("label", { class: "note" }, "Show ", this.part)),
      el("div", { class: "card sensors" }, this.scatter.element, el("div", {}, el("div", { class: "pair-strip" }, this.strip), this.facts, this.note)));
    new ResizeObserver(() => this.paintStrip()).observe(this.strip);
    addEventListener("theme", () => { if (this.pair) this.draw(); });
  }

  /** All pairs of a flight; `wanted` is a species, or two channels with a comma between them. */
  set(pairs, wanted = "") {
    this.pairs = pairs;
    fill(this.choice, pairs.map((p, i) => option(String(i), `${p.title}: ${p.x}, ${p.y}`)));
    this.parent.hidden = !pairs.length;
    const chosen = pairs.find((p) => nameOfPair(pairs, p) === wanted || p.species === wanted) ?? pairs.find((p) => p.x === this.pair?.x && p.y === this.pair.y) ?? pairs[0];
    if (chosen) this.show(chosen);
  }

  show(pair) {
    this.pair = pair;
    this.choice.value = String(this.pairs.indexOf(pair));
    const row = (name, value, unit = units(pair.units)) => ({ cells: [name, value, unit] });
    fill(this.facts, table({ head: ["figure", "value", "unit"], text: [0, 2], title: `${pair.y} against ${pair.x}`, rows: [
      row("samples", count(pair.n), ""), row(`bias, mean of ${pair.y} − ${pair.x}`, number(pair.bias)), row("bias in clean air", number(pair.bias_clean)),
      row("RMS of the difference", number(pair.rms)), row("slope", plusMinus(pair.slope, pair.slope_sigma), ""), row("intercept", number(pair.intercept)), row("correlation", number(pair.correlation), ""),
    ] }));
    this.note.textContent = `${pair.remark ? `Disagreement: ${pair.remark}. ` : ""}Estimates before the bound, at the coarser resolution of the two (${number(pair.resolution_s, 2)} s). Line: York regression ± one standard uncertainty; dashed: 1 : 1. Squares: in plumes.`;
    this.draw();
  }

  draw() {
    show(this.part.parentElement, this.pair.points.smoke.includes(0) && this.pair.points.smoke.includes(1));
    this.scatter.set(this.pair, this.by.value, this.part.value === "clean" && !this.part.parentElement.hidden);
    this.paintStrip();
  }

  timeAt(x) {
    const { time } = this.pair.points, share = (x - STRIP_EDGE.left) / (this.strip.clientWidth - STRIP_EDGE.left - STRIP_EDGE.right);
    return time[0] + Math.min(Math.max(share, 0), 1) * (time.at(-1) - time[0]);
  }

  /** Mark a time in the scatter and in the strip; null for none. */
  point(ms) {
    if (!this.pair) return;
    this.scatter.point(ms);
    this.mark(ms);
  }

  mark(ms) {
    this.at = ms;
    this.paintStrip();
  }

  paintStrip() {
    if (!this.pair || !this.strip.clientWidth) return;
    const { points: { time, x, y }, x: first, y: second } = this.pair, [g, width, height] = cleared(this.strip);
    const all = [...x, ...y], low = all.reduce((a, b) => Math.min(a, b)), high = all.reduce((a, b) => Math.max(a, b)), long = time.at(-1) - time[0] || 1;
    const across = (ms) => STRIP_EDGE.left + ((ms - time[0]) / long) * (width - STRIP_EDGE.left - STRIP_EDGE.right), up = (v) => height - STRIP_EDGE.bottom - ((v - low) / (high - low || 1)) * (height - STRIP_EDGE.top - STRIP_EDGE.bottom);
    const xs = time.map(across);
    line(g, xs, x.map(up), { stroke: colour("estimate"), width: 1.4 });
    line(g, xs, y.map(up), { stroke: colour("other"), width: 1.4, dash: [4, 2] });
    g.fillStyle = colour("soft");
    g.fillText(`${shownClock(time[0])} – ${shownClock(time.at(-1))} ${zoneName(time[0])} · solid ${first}, dashed ${second}`, STRIP_EDGE.left, height - 4);
    if (this.at === null || this.at === undefined) return;
    line(g, [across(this.at), across(this.at)], [0, height - STRIP_EDGE.bottom], { stroke: colour("truth"), width: 2 });
  }
}

/** The name of a pair in an address: its species, or both channels where another pair of that species comes first. */
export const nameOfPair = (pairs, pair) => (pairs.find((p) => p.species === pair.species) === pair ? pair.species : `${pair.x},${pair.y}`);
