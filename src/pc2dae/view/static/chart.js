// One channel over time, drawn by uPlot: raw, noise-free reading, estimate and its 90 % interval, truth, flags, plumes.

import { colour, el } from "./dom.js";
import { isNumber, number, stamp, ticks, timeLabels } from "./format.js";

const STRIP = 5, BAR = 6; // px: flags at the bottom, plumes at the top
const SHADED = [1, 2]; // flags without a usable measurement shade the whole height
// Key of the data, colour, width, dashes; in the order of drawing.
const LINES = [["raw", "raw", 1], ["low"], ["high"], ["truth", "truth", 1.4], ["response", "response", 1.4], ["unbounded", "estimate", 1, [2, 3]], ["estimate", "estimate", 2], ["other", "other", 1.8, [5, 3]]];
const INDEX = Object.fromEntries(LINES.map(([key], i) => [key, i + 1]));
const LEAST = 6; // px a pointer must move to count as a drag

export class Chart {
  /** `onRange(range or null)` when the user zooms, `onHover(ms or null)`. */
  constructor(channel, { onRange, onHover }) {
    Object.assign(this, { channel, onRange, onHover });
    this.element = el("div", { class: "plot", role: "img", "aria-label": `${channel.name} over time: raw and estimate` });
    new ResizeObserver(() => this.plot?.setSize(this.size)).observe(this.element);
  }

  get size() { return { width: this.element.clientWidth, height: this.element.clientHeight }; }

  /** Draw {series, other, encounters, range, hidden}; `other` is a second estimate over the same times. */
  set(shown) {
    this.shown = shown;
    const { series, other, range, hidden } = shown, mine = series.channels[this.channel.name], bound = this.channel.lower_bound;
    const none = [];
    const lines = {
      ...mine,
      unbounded: mine.unbounded?.map((v) => (v !== null && v < bound ? v : null)),
      other: other?.time.length === series.time.length && other.channels[this.channel.name].estimate,
    };
    const data = [series.time, ...LINES.map(([key]) => lines[key] || none)];
    if (this.plot) this.plot.setData(data, false);
    else {
      this.plot = new uPlot(this.options(), data, this.element);
      gestures(this);
    }
    LINES.forEach(([key], i) => {
      const isShown = Boolean(lines[key]) && !hidden.has({ low: "band", high: "band", unbounded: "estimate" }[key] ?? key);
      if (this.plot.series[i + 1].show !== isShown) this.plot.setSeries(i + 1, { show: isShown });
    });
    this.setRange(range);
  }

  setRange(range) {
    this.shown.range = range;
    [this.element.dataset.from, this.element.dataset.to] = range;
    const { time } = this.shown.series;
    this.first = Math.max(time.findIndex((t) => t >= range[0]), 0);
    this.last = time.findLastIndex((t) => t <= range[1]);
    this.plot.setScale("x", { min: range[0], max: range[1] });
  }

  options() {
    const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
    const line = ([, name, width = 0, dash]) => ({ stroke: name && (() => colour(name)), width, dash, points: { show: false } });
    const without = (act) => (_u, _target, handle) => (event) => act(event, handle);
    return {
      ...this.size, ms: 1, tzDate: (ms) => uPlot.tzDate(new Date(ms), "Etc/UTC"), legend: { show: false }, padding: [BAR + 5, 10, 0, 0],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: LEAST },
        bind: {
          mousedown: without((e, handle) => e.button === 0 && !e.shiftKey && handle(e)),
          dblclick: without(() => this.onRange(null)),
        },
      },
      scales: { x: { time: true, range: (_u, min, max) => [min, max] }, y: { range: () => this.vertical() } },
      axes: [
        { ...axis, space: 76, values: timeLabels, size: (_u, values) => (values?.some((v) => v.includes("\n")) ? 38 : 22), gap: 4 },
        { ...axis, space: 34, size: 58, gap: 6, values: (_u, values) => ticks(values) },
      ],
      series: [{}, ...LINES.map(line)],
      bands: [{ series: [INDEX.high, INDEX.low], fill: () => colour("band") }],
      hooks: {
        drawClear: [(u) => this.flags(u)],
        draw: [(u) => this.plumes(u)],
        setCursor: [(u) => this.onHover(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null, this)],
        setSelect: [(u) => {
          const { left, width } = u.select, range = [left, left + width].map((x) => u.posToVal(x, "x"));
          u.setSelect({ left: 0, width: 0 }, false);
          if (width >= LEAST) this.onRange(range);
        }],
      },
    };
  }

  flags(u) {
    const { ctx, bbox } = u, { range, series } = this.shown, px = devicePixelRatio || 1, bottom = bbox.top + bbox.height;
    clipped(u, () => {
      for (const [from, to, kind] of series.channels[this.channel.name].flags) {
        if (to < range[0] || from > range[1]) continue;
        const left = u.valToPos(from, "x", true), wide = Math.max(u.valToPos(to, "x", true) - left, 1);
        ctx.fillStyle = colour(`flag${kind}`);
        if (SHADED.includes(kind)) { ctx.globalAlpha = 0.28; ctx.fillRect(left, bbox.top, wide, bbox.height); ctx.globalAlpha = 1; }
        ctx.fillRect(left, bottom - STRIP * px, wide, STRIP * px);
      }
    });
  }

  plumes(u) {
    const px = devicePixelRatio || 1, at = (ms) => u.valToPos(ms, "x", true);
    clipped(u, () => {
      u.ctx.fillStyle = colour("plume");
      for (const { onset, end } of this.shown.encounters) u.ctx.fillRect(at(onset), px, Math.max(at(end) - at(onset), 3 * px), BAR * px);
    });
  }

  /** A vertical range that shows the estimate whole and all but the rarest spikes of the raw record. */
  vertical() {
    const mine = this.shown.series.channels[this.channel.name];
    const known = (values) => Float64Array.from((values ?? []).slice(this.first, this.last + 1).filter((v) => v !== null));
    const raw = known(mine.raw).sort(), cut = mine.estimate ? Math.floor(raw.length * 0.002) : 0;
    let low = raw.length ? raw[cut] : Infinity, high = raw.length ? raw[raw.length - 1 - cut] : -Infinity;
    for (const values of [mine.estimate, mine.truth]) for (const v of known(values)) { if (v < low) low = v; if (v > high) high = v; }
    if (!(high >= low)) return [0, 1];
    const pad = 0.06 * (high - low || Math.abs(high) || 1);
    return [low - 1.4 * pad, high + 1.4 * pad];
  }

  /** Put the cursor at a time; returns the values there as text, or null outside of the range shown. */
  point(ms, isSource) {
    const { plot, shown, channel } = this;
    const isInside = plot && ms !== null && ms >= shown.range[0] && ms <= shown.range[1];
    if (plot && !isSource) plot.setCursor({ left: isInside ? plot.valToPos(ms, "x") : -10, top: 0 }, false);
    const i = plot?.cursor.idx;
    if (!isInside || !isNumber(i)) return null;
    const mine = shown.series.channels[channel.name], estimate = mine.estimate?.[i];
    const interval = isNumber(mine.high?.[i]) ? ` (${number(mine.low[i])} – ${number(mine.high[i])})` : "";
    const known = isNumber(estimate) ? `${number(estimate)} ${channel.units}${interval} · ` : "";
    const reading = isNumber(mine.response?.[i]) ? `reading ${number(mine.response[i])} · ` : "";
    return `${stamp(shown.series.time[i], shown.series.time)} · ${known}${reading}raw ${number(mine.raw?.[i])}`;
  }
}

function clipped(u, draw) {
  u.ctx.save();
  u.ctx.beginPath();
  u.ctx.rect(u.bbox.left, 0, u.bbox.width, u.bbox.top + u.bbox.height);
  u.ctx.clip();
  draw();
  u.ctx.restore();
}

/** One finger (or a mouse with Shift) pans, two fingers zoom, Ctrl and the wheel zoom. */
function gestures(chart) {
  const { over } = chart.plot, pointers = new Map();
  let held = null;
  const xs = () => [...pointers.values()].sort((a, b) => a - b).map((x) => x - over.getBoundingClientRect().left);
  const hold = () => { held = pointers.size ? { xs: xs(), range: chart.shown.range.slice() } : null; };
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" && !event.shiftKey) return;
    if (event.pointerType !== "touch") over.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
    hold();
  });
  over.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, event.clientX);
    const now = xs(), [from, to] = held.range, rate = (to - from) / over.clientWidth;
    if (now.length === 1 && Math.abs(now[0] - held.xs[0]) >= LEAST) chart.onRange([from, to].map((ms) => ms + (held.xs[0] - now[0]) * rate));
    if (now.length !== 2 || now[1] - now[0] < 10) return;
    const zoomed = (rate * (held.xs[1] - held.xs[0])) / (now[1] - now[0]), left = from + held.xs[0] * rate - now[0] * zoomed;
    chart.onRange([left, left + over.clientWidth * zoomed]);
  });
  for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => { if (pointers.delete(event.pointerId)) hold(); });
  over.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // without it the wheel scrolls the page
    event.preventDefault();
    const [from, to] = chart.shown.range, at = chart.plot.posToVal(event.offsetX, "x"), factor = event.deltaY > 0 ? 1.25 : 0.8;
    chart.onRange([at - (at - from) * factor, at + (to - at) * factor]);
  }, { passive: false });
}
