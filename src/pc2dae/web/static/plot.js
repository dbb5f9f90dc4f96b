// One panel on the screen: draws itself, and tells what a hand does on it.

import { el } from "./dom.js";
import { LEFT, paint, RIGHT } from "./figure.js";
import { nearest } from "./track.js";
import { clock, isNumber, number, units } from "./words.js";

const LEAST = 6; // px a drag must go to count as one

export class Plot {
  /** `onRange(range or null)`, `onHover(ms or null)`. */
  constructor(channel, { onRange, onHover }) {
    Object.assign(this, { channel, onRange, onHover });
    this.canvas = el("canvas", { role: "img", "aria-label": `${channel.name} over time: as logged and estimate` });
    this.cursor = el("div", { class: "cursor", hidden: true });
    this.chosen = el("div", { class: "chosen", hidden: true });
    this.element = el("div", { class: "plot" }, this.canvas, this.chosen, this.cursor);
    const at = (e) => this.time(e.clientX);
    this.canvas.addEventListener("pointermove", (e) => { onHover(at(e)); this.drag(e); });
    this.canvas.addEventListener("pointerleave", () => onHover(null));
    this.canvas.addEventListener("pointerdown", (e) => this.grab(e));
    this.canvas.addEventListener("pointerup", (e) => this.drop(e));
    this.canvas.addEventListener("pointercancel", () => { this.held = null; this.chosen.hidden = true; });
    this.canvas.addEventListener("dblclick", () => onRange(null));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  set(view) {
    this.view = { channel: this.channel, ...view };
    [this.element.dataset.from, this.element.dataset.to] = view.range;
    this.draw();
  }

  draw() { if (this.view) paint(this.canvas, this.view); }

  get wide() { return this.canvas.clientWidth - LEFT - RIGHT; }
  x(ms) { const [from, to] = this.view.range; return LEFT + ((ms - from) / (to - from)) * this.wide; }

  time(clientX) {
    if (!this.view) return null;
    const [from, to] = this.view.range, share = (clientX - this.canvas.getBoundingClientRect().left - LEFT) / this.wide;
    return from + Math.min(Math.max(share, 0), 1) * (to - from);
  }

  // A mouse drags out the stretch to see; a finger, or a mouse with Shift, moves it.
  grab(event) {
    if (!this.view || event.button) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.held = { x: event.clientX, range: this.view.range.slice(), isPan: event.pointerType === "touch" || event.shiftKey };
  }

  drag(event) {
    if (!this.held || Math.abs(event.clientX - this.held.x) < LEAST) return;
    const { x, range, isPan } = this.held;
    if (isPan) {
      const by = ((x - event.clientX) / this.wide) * (range[1] - range[0]);
      this.onRange([range[0] + by, range[1] + by]);
      return;
    }
    const ends = [x, event.clientX].map((px) => this.x(this.time(px)));
    this.chosen.hidden = false;
    this.chosen.style.left = `${Math.min(...ends)}px`;
    this.chosen.style.width = `${Math.abs(ends[1] - ends[0])}px`;
  }

  drop(event) {
    const held = this.held;
    this.held = null;
    this.chosen.hidden = true;
    if (!held || held.isPan || Math.abs(event.clientX - held.x) < LEAST) return;
    this.onRange([held.x, event.clientX].map((px) => this.time(px)).sort((a, b) => a - b));
  }

  /** Mark a moment; says what was measured and estimated then, or null where it is not shown. */
  point(ms) {
    const isShown = ms !== null && this.view && ms >= this.view.range[0] && ms <= this.view.range[1];
    this.cursor.hidden = !isShown;
    if (!isShown) return null;
    const { series, channel } = this.view, mine = series.channels[channel.name], i = nearest(series.time, ms), estimate = mine.estimate?.[i];
    this.cursor.style.left = `${this.x(series.time[i])}px`;
    const interval = isNumber(mine.high?.[i]) ? ` (${number(mine.low[i])} – ${number(mine.high[i])})` : "";
    const known = isNumber(estimate) ? `${number(estimate)} ${units(channel.units)}${interval} · ` : "";
    return `${clock(series.time[i])} · ${known}logged ${number(mine.raw?.[i])}`;
  }
}
