// @ts-check
// A small plot by uPlot with a given vertical range, without gestures.

import { valueLabels, valueTicks } from "./view/axes.js";
import { colour, el } from "./view/dom.js";

export class SmallPlot {
  /** @type {any} */ across;
  /** @type {any} */ bands;
  /** @type {any} */ hasLabels;
  /** @type {any} */ lines;
  /** @type {any} */ onHover;
  /** @type {any} */ ticks;
  /** @type {string} */ units;
  /** @type {any} */ up;
  /** @type {any} */ zero;
  /** `lines` are [role of the colour, width, dashes] of each series; `ticks(range, width)` gives {times, labels} of the horizontal axis; `hasLabels` false draws only its grid. */
  constructor({ lines, units, bands = [], ticks, hasLabels = true, zero = false, title, onHover = () => {}, onLeave = () => {} }) {
    Object.assign(this, { lines, units, bands, ticks, hasLabels, zero, onHover, onLeave });
    this.element = el("div", { class: "small-plot", role: "img", "aria-label": title });
    this.element.addEventListener("pointerleave", onLeave);
    new ResizeObserver(() => this.plot?.setSize(this.size)).observe(this.element);
  }

  get size() { return { width: this.element.clientWidth, height: this.element.clientHeight }; }

  /** Draw `data` as uPlot has it over `across` [low, high] and `up` [low, high]. */
  set(data, across, up) {
    Object.assign(this, { across, up });
    if (!this.element.clientWidth) return;
    if (this.plot) this.plot.setData(data);
    else this.plot = new uPlot(this.options(), data, this.element);
  }

  options() {
    const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false }, gap: 4 };
    const across = (u) => this.ticks(this.across, u.bbox.width / (devicePixelRatio || 1));
    return {
      ...this.size, ms: 1, legend: { show: false }, padding: [6, 10, 0, 0],
      cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: () => this.across }, y: { range: () => this.up } },
      axes: [
        { ...axis, size: this.hasLabels ? 38 : 8, splits: (u) => across(u).times, values: (u) => (this.hasLabels ? across(u).labels : across(u).times.map(() => "")) },
        { ...axis, label: this.units, labelSize: 18, labelFont: "12px system-ui", size: 54, gap: 6, splits: (u) => valueTicks(this.up, false, u.bbox.height / (devicePixelRatio || 1) / 30), values: (_u, values) => valueLabels(values, false) },
      ],
      series: [{}, ...this.lines.map(([role, width, dash]) => ({ stroke: role && (() => colour(role)), width, dash, points: { show: false } }))],
      bands: this.bands.map((series) => ({ series, fill: () => colour("band") })),
      hooks: {
        draw: this.zero ? [(u) => this.drawZero(u)] : [],
        setCursor: [(u) => { if (u.cursor.left >= 0 && u.cursor.event) this.onHover(u.posToVal(u.cursor.left, "x")); }],
      },
    };
  }

  drawZero({ ctx, bbox, valToPos }) {
    const y = valToPos(0, "y", true);
    ctx.save();
    ctx.strokeStyle = colour("ink");
    ctx.lineWidth = devicePixelRatio || 1;
    ctx.beginPath(); ctx.moveTo(bbox.left, y); ctx.lineTo(bbox.left + bbox.width, y); ctx.stroke();
    ctx.restore();
  }

  /** Put the cursor at a place of the horizontal axis; null for none. */
  point(x) {
    this.plot?.setCursor({ left: x === null ? -10 : this.plot.valToPos(x, "x"), top: 0 }, false);
  }

  redraw() { this.plot?.redraw(); }
}

/** A vertical range around all known values of some series, with a margin. */
export function around(...series) {
  let low = Infinity, high = -Infinity;
  for (const values of series) for (const v of values ?? []) if (v !== null) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return [0, 1];
  const pad = 0.08 * (high - low || Math.abs(high) || 1);
  return [low - pad, high + pad];
}
