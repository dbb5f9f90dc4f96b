// @ts-check
// Two sensors of a species against each other: points, the 1 : 1 line and the fitted line with its uncertainty.

import { cleared, line, roundValues } from "./canvas.js";
import { ColourScale } from "./colours.js";
import { colour, el } from "./dom.js";
import { number, ticks, units } from "./format.js";
import { shownClock, zoneName } from "./zone.js";

const SCATTER_EDGE = { left: 58, right: 14, top: 12, bottom: 42 }, SCATTER_NEAR = 18; // px
const SCATTER_PAD = 0.04; // share of the range beyond the outermost points

export class Scatter {
  /** @type {any} */ onHover;
  /** `onHover(ms or null)` when a point is under the pointer or chosen by the arrow keys. */
  constructor(onHover) {
    Object.assign(this, { onHover, shown: null, chosen: -1 });
    this.canvas = el("canvas", { tabindex: "0", role: "img" });
    this.ring = el("div", { class: "here", hidden: true });
    this.tip = el("div", { class: "tip", hidden: true });
    this.element = el("div", { class: "scatter" }, this.canvas, this.ring, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerdown", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.choose(-1));
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  /** Draw a pair of sensors; `by` is "smoke" or "time"; `isClean` enlarges clean air. */
  set(pair, by, isClean) {
    this.shown = { pair, by, isClean };
    this.canvas.setAttribute("aria-label", `${pair.y} against ${pair.x}, ${pair.n} samples: bias ${number(pair.bias)} ${units(pair.units)}, slope ${number(pair.slope)}. Arrow keys step through the points.`);
    this.choose(-1);
    this.paint();
  }

  paint() {
    if (!this.shown || !this.canvas.clientWidth) return;
    const { pair: { points, x, y, units: given }, isClean } = this.shown, [g, width, height] = cleared(this.canvas), right = width - SCATTER_EDGE.right, bottom = height - SCATTER_EDGE.bottom;
    const all = [...points.x, ...points.y].filter((_, i) => !isClean || !points.smoke[i % points.x.length]), least = all.reduce((a, b) => Math.min(a, b)), most = all.reduce((a, b) => Math.max(a, b)), pad = SCATTER_PAD * (most - least || 1);
    const low = least - pad, high = most + pad; // the same on both axes: the 1 : 1 line is the diagonal
    this.x = (v) => SCATTER_EDGE.left + ((v - low) / (high - low)) * (right - SCATTER_EDGE.left);
    this.y = (v) => bottom - ((v - low) / (high - low)) * (bottom - SCATTER_EDGE.top);
    const round = roundValues(low, high, 5), words = ticks(round);
    g.strokeStyle = colour("line"); g.fillStyle = colour("soft"); g.lineWidth = 1;
    round.forEach((v, i) => {
      g.beginPath(); g.moveTo(this.x(v), SCATTER_EDGE.top); g.lineTo(this.x(v), bottom); g.moveTo(SCATTER_EDGE.left, this.y(v)); g.lineTo(right, this.y(v)); g.stroke();
      g.textAlign = "center"; g.fillText(words[i], Math.min(this.x(v), right - 8), bottom + 15);
      g.textAlign = "right"; g.fillText(words[i], SCATTER_EDGE.left - 6, this.y(v) + 4);
    });
    g.textAlign = "right"; g.fillText(`${x} [${units(given)}]`, right, height - 6);
    g.save(); g.translate(12, SCATTER_EDGE.top); g.rotate(-Math.PI / 2); g.fillText(`${y} [${units(given)}]`, 0, 0); g.restore();
    g.textAlign = "left";
    g.save(); g.beginPath(); g.rect(SCATTER_EDGE.left, SCATTER_EDGE.top, right - SCATTER_EDGE.left, bottom - SCATTER_EDGE.top); g.clip();
    this.dots(g);
    line(g, [this.x(low), this.x(high)], [this.y(low), this.y(high)], { stroke: colour("ink"), width: 1.2, dash: [5, 4] });
    this.fitted(g, low, high);
    g.restore();
  }

  /** Clean air is a dot, smoke a square; by time all are dots in the colours of the map. */
  dots(g) {
    const { pair: { points: { time, x, y, smoke } }, by } = this.shown, scale = new ColourScale([0, 1], false), first = time[0], long = time.at(-1) - first || 1;
    for (const isSmoke of [0, 1]) {
      for (let i = 0; i < x.length; i++) {
        if (smoke[i] !== isSmoke) continue;
        g.fillStyle = by === "time" ? scale.colourAt((time[i] - first) / long) : colour(isSmoke ? "truth" : "raw");
        g.beginPath();
        if (isSmoke) g.rect(this.x(x[i]) - 2.5, this.y(y[i]) - 2.5, 5, 5);
        else g.arc(this.x(x[i]), this.y(y[i]), 2, 0, 7);
        g.fill();
      }
    }
  }

  /** The line, and the wedge of one standard uncertainty of its slope about the middle of the points. */
  fitted(g, low, high) {
    const { slope, slope_sigma: sigma, intercept, points } = this.shown.pair;
    if (slope === null) return;
    const middle = points.x.reduce((a, b) => a + b, 0) / points.x.length, at = (v, k = 0) => this.y(intercept + slope * v + k * (sigma ?? 0) * (v - middle));
    g.fillStyle = colour("band");
    g.beginPath(); g.moveTo(this.x(low), at(low, 1)); g.lineTo(this.x(high), at(high, 1)); g.lineTo(this.x(high), at(high, -1)); g.lineTo(this.x(low), at(low, -1)); g.fill();
    line(g, [this.x(low), this.x(high)], [at(low), at(high)], { stroke: colour("estimate"), width: 2.2 });
  }

  hover({ offsetX, offsetY }) {
    if (!this.shown || !this.x) return;
    const { x, y } = this.shown.pair.points, distance = (i) => Math.hypot(this.x(x[i]) - offsetX, this.y(y[i]) - offsetY);
    const best = x.reduce((near, _, i) => (near < 0 || distance(i) < distance(near) ? i : near), -1);
    this.choose(best >= 0 && distance(best) < SCATTER_NEAR ? best : -1);
  }

  key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step || !this.shown) return;
    event.preventDefault();
    const count = this.shown.pair.points.x.length;
    this.choose((Math.max(this.chosen, step > 0 ? -1 : 0) + step + count) % count);
  }

  choose(index) {
    if (index === this.chosen) return;
    this.mark(index);
    this.onHover(index < 0 ? null : this.shown.pair.points.time[index]);
  }

  /** A ring around the point nearest to a time; null for none. */
  point(ms) {
    if (!this.shown) return;
    const { time } = this.shown.pair.points;
    this.mark(ms === null ? -1 : time.reduce((best, t, i) => (best < 0 || Math.abs(t - ms) < Math.abs(time[best] - ms) ? i : best), -1));
  }

  mark(index) {
    this.chosen = index;
    const { pair: { points, x, y, units: given } } = this.shown, left = this.x?.(points.x[index]), top = this.y?.(points.y[index]);
    this.ring.hidden = this.tip.hidden = !(left <= this.canvas.clientWidth && top >= 0); // none, or beyond what is shown
    if (this.ring.hidden) return;
    Object.assign(this.ring.style, { left: `${left}px`, top: `${top}px` });
    this.tip.textContent = `${shownClock(points.time[index])} ${zoneName(points.time[index])}${points.smoke[index] ? ", in a plume" : ""}\n${x} ${number(points.x[index])} · ${y} ${number(points.y[index])} ${units(given)}`;
    Object.assign(this.tip.style, { left: `${Math.max(Math.min(left + 12, this.canvas.clientWidth - this.tip.offsetWidth), 0)}px`, top: `${Math.max(top - 56, 0)}px` });
  }
}
