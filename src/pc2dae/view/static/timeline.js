// @ts-check
// The whole flight on one strip with the range that all panels show: drag it or its ends, or use the keyboard.

import { colour } from "./dom.js";
import { cleared, line } from "./canvas.js";
import { duration } from "./format.js";
import { shownClock, shownDay, zoneName } from "./zone.js";

const SHORTEST_MS = 10_000;
const GRIP = 22; // px around an end that select it

export class Timeline {
  /** @type {any} */ canvas;
  /** @type {any} */ curve;
  /** @type {{time: number, note: string}[]} */ marks;
  /** @type {any} */ onRange;
  /** @type {[number, number][]} */ plumes;
  /** @type {[number, number]} */ span;
  /** @type {any} */ words;
  constructor(canvas, words, onRange) {
    Object.assign(this, { canvas, words, onRange, span: null, range: null, curve: null, plumes: [], marks: [] });
    canvas.addEventListener("pointerdown", (e) => this.grab(e));
    canvas.addEventListener("pointermove", (e) => this.move(e));
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { this.held = null; });
    canvas.addEventListener("dblclick", () => onRange(null));
    canvas.addEventListener("keydown", (e) => this.key(e));
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(e.deltaY > 0 ? 1.25 : 0.8, this.time(e)); }, { passive: false });
    new ResizeObserver(() => this.draw()).observe(canvas);
  }

  set({ span, range, time, values, plumes, marks }) {
    Object.assign(this, { span, range, curve: { time, values }, plumes, marks });
    this.draw();
  }

  setRange(range) { this.range = range; this.draw(); }

  x(ms) { return ((ms - this.span[0]) / (this.span[1] - this.span[0])) * this.canvas.clientWidth; }

  time(event) {
    const share = (event.clientX - this.canvas.getBoundingClientRect().left) / this.canvas.clientWidth;
    return this.span[0] + share * (this.span[1] - this.span[0]);
  }

  grab(event) {
    if (!this.span) return;
    this.canvas.setPointerCapture(event.pointerId);
    const at = this.time(event), near = (ms) => Math.abs(this.x(ms) - this.x(at)) < GRIP;
    const [from, to] = this.range, isWhole = from <= this.span[0] && to >= this.span[1];
    const part = near(from) ? "from" : near(to) ? "to" : at > from && at < to ? "move" : "new", kind = isWhole ? "new" : part;
    this.held = { kind, at, range: this.range.slice() };
  }

  move(event) {
    if (!this.held) return;
    const at = this.time(event), { kind, at: begin, range } = this.held;
    if (kind === "new" && Math.abs(this.x(at) - this.x(begin)) < 8) return;
    const wanted = { move: range.map((ms) => ms + at - begin), from: [at, range[1]], to: [range[0], at], new: [begin, at] }[kind];
    this.onRange(this.within([Math.min(...wanted), Math.max(...wanted)], kind === "move"));
  }

  /** A range inside the flight, no shorter than SHORTEST_MS. */
  within([from, to], keepsLength = true) {
    const length = Math.min(Math.max(to - from, SHORTEST_MS), this.span[1] - this.span[0]);
    if (!keepsLength) [from, to] = [Math.max(from, this.span[0]), Math.min(to, this.span[1])];
    from = Math.min(Math.max(from, this.span[0]), this.span[1] - length);
    return keepsLength || to - from < SHORTEST_MS ? [from, from + length] : [from, to];
  }

  zoom(factor, around) {
    const [from, to] = this.range;
    this.onRange(this.within([around - (around - from) * factor, around + (to - around) * factor]));
  }

  key(event) {
    if (!this.span) return;
    const [from, to] = this.range, step = 0.2 * (to - from);
    const move = (by) => () => this.onRange(this.within([from + by, to + by])), zoom = (by) => () => this.zoom(by, (from + to) / 2);
    const whole = () => this.onRange(null);
    const act = { ArrowLeft: move(-step), ArrowRight: move(step), "+": zoom(0.7), "=": zoom(0.7), "-": zoom(1.4), Home: whole, Escape: whole }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  draw() {
    const { canvas, span, range, curve } = this;
    if (!span || !canvas.clientWidth) return;
    const [g, width, height] = cleared(canvas);
    g.fillStyle = colour("plume");
    for (const [from, to] of this.plumes) g.fillRect(this.x(from), 2, Math.max(this.x(to) - this.x(from), 2), 5);
    const known = curve.values.filter((v) => v !== null);
    const low = Math.min(...known), high = Math.max(...known), y = (v) => height - 5 - ((v - low) / (high - low || 1)) * (height - 18);
    line(g, curve.time.map((t) => this.x(t)), curve.values.map((v) => (v === null ? null : y(v))), { stroke: colour("estimate"), width: 1.4 });
    g.fillStyle = colour("ink");
    for (const { time } of this.marks) { g.fillRect(this.x(time) - 0.5, 0, 1, height); g.beginPath(); g.moveTo(this.x(time), 0); g.lineTo(this.x(time) + 9, 4); g.lineTo(this.x(time), 8); g.fill(); }
    const [a, b] = range.map((ms) => this.x(ms));
    g.globalAlpha = 0.72; g.fillStyle = colour("ground");
    g.fillRect(0, 0, a, height); g.fillRect(b, 0, width - b, height);
    g.globalAlpha = 1; g.strokeStyle = colour("accent"); g.lineWidth = 2;
    g.strokeRect(a + 1, 1, Math.max(b - a - 2, 1), height - 2);
    g.fillStyle = colour("accent");
    for (const at of b - a > 34 ? [a, b - 7] : [a - 6, b - 1]) { g.beginPath(); g.roundRect(at, height / 2 - 13, 7, 26, 3); g.fill(); }
    const [first, last] = range.map(shownDay);
    const text = `${first} ${shownClock(range[0])} – ${last === first ? "" : `${last} `}${shownClock(range[1])} ${zoneName(range[0])}, ${duration((range[1] - range[0]) / 1000)}`;
    this.words.textContent = text;
    canvas.setAttribute("aria-valuenow", Math.round((100 * (range[0] - span[0])) / (span[1] - span[0])));
    canvas.setAttribute("aria-valuetext", text);
  }
}
