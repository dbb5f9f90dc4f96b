// @ts-check
// One channel over time, drawn by uPlot: raw, noise-free reading, estimate and its 90 % interval, truth, flags, plumes, marks.

import { timeTicks, valueLabels, valueTicks } from "./axes.js";
import { colour, el } from "./dom.js";
import { isNumber, number, percent } from "./format.js";
import { axisGestures, chartKeys, gestures } from "./gestures.js";
import { BAR, HATCHES, isTallFlag, LINES, TILE } from "./styles.js";
import { shownStamp, zoneName } from "./zone.js";

const INDEX = Object.fromEntries(LINES.map(({ key }, i) => [key, i + 1]));
const DEEPEST_AXIS = 10_000; // ratio of the ends of a logarithmic axis
const LEAST = 6; // px a pointer must move to count as a drag
const KEYS = "Left and right arrows move the cursor and read the values, plus and minus zoom, Home shows the whole flight, Backspace undoes a zoom.";

export class Chart {
  /** @type {Schemas["FlightShown"]["channels"][number]} */ channel;
  /** @type {any} */ onHover;
  /** @type {any} */ onRange;
  /** @type {any} */ onSelect;
  /** @type {any} */ onVertical;
  /** @type {any} */ range;
  /** @type {any} */ zoomed;
  /** `onRange(range or null)` when the user zooms in time, `onSelect(range)` after a drag along it, `onVertical(range or null)` in value, `onHover(ms or null, chart)`, `onRead(chart)` when the values at the cursor are to be read out. */
  constructor(channel, { onRange, onSelect, onVertical, onHover, onRead }) {
    Object.assign(this, { channel, onRange, onSelect, onVertical, onHover, onRead, zoomed: null });
    this.element = el("div", { class: "plot", tabindex: "0", role: "application", "aria-roledescription": "chart", "aria-label": `${channel.name} over time. ${KEYS}` });
    this.tip = el("div", { class: "tip flag-tip", hidden: true });
    chartKeys(this);
    new ResizeObserver(() => this.plot?.setSize(this.size)).observe(this.element);
  }

  get size() { return { width: this.element.clientWidth, height: this.element.clientHeight }; }
  get data() { return this.shown.series.channels[this.channel.name]; }

  /** The lines to draw by their keys, all over the times of the series; `other` only where it has the same times. */
  get lines() {
    const { series, other, hidden } = this.shown, mine = this.data, bound = this.channel.lower_bound;
    const all = {
      ...mine,
      unbounded: mine.unbounded?.map((v) => (v !== null && v < bound ? v : null)),
      other: other?.time.length === series.time.length ? other.channels[this.channel.name].estimate : null,
    };
    const role = (key) => ({ low: "band", high: "band", unbounded: "estimate" }[key] ?? key);
    return Object.fromEntries(LINES.map(({ key }) => [key, all[key] && !hidden.has(role(key)) ? all[key] : null]));
  }

  /** Draw {series, other, encounters, hidden, isLog, marked, marks, clean}; `other` is a second estimate over the same times. */
  set(shown, range, zoomed) {
    if (shown.isLog !== this.shown?.isLog) this.forget();
    this.shown = shown;
    const { lines } = this, none = [], data = [shown.series.time, ...LINES.map(({ key }) => lines[key] ?? none)];
    if (this.plot) this.plot.setData(data, false);
    else {
      this.plot = new uPlot(this.options(), data, this.element);
      gestures(this);
      axisGestures(this);
      this.plot.over.append(this.tip);
    }
    LINES.forEach(({ key }, i) => {
      if (this.plot.series[i + 1].show !== Boolean(lines[key])) this.plot.setSeries(i + 1, { show: Boolean(lines[key]) });
    });
    this.setRange(range, zoomed);
  }

  forget() {
    this.plot?.destroy();
    this.plot = null;
  }

  setRange(range, zoomed) {
    Object.assign(this, { range, zoomed });
    [this.element.dataset.from, this.element.dataset.to] = range;
    const { time } = this.shown.series;
    this.first = Math.max(time.findIndex((t) => t >= range[0]), 0);
    this.last = time.findLastIndex((t) => t <= range[1]);
    this.plot.setScale("x", { min: range[0], max: range[1] });
  }

  options() {
    const { isLog } = this.shown, px = devicePixelRatio || 1;
    const axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1 }, ticks: { show: false } };
    /** @param {{role?: string, width?: number, dash?: number[]}} style */
    const line = ({ role, width = 0, dash }) => ({ stroke: role && (() => colour(role)), width, dash: dash?.map((d) => d * px), points: { show: false } });
    const without = (act) => (_u, _target, handle) => (event) => act(event, handle);
    const across = (u) => u.bbox.width / px, down = (u) => u.bbox.height / px;
    return {
      ...this.size, ms: 1, legend: { show: false }, padding: [BAR + 5, 10, 0, 0],
      cursor: {
        y: false, points: { show: false }, drag: { x: true, y: false, setScale: false, dist: LEAST },
        bind: {
          mousedown: without((e, handle) => e.button === 0 && !e.shiftKey && handle(e)),
          dblclick: without(() => { this.onVertical(null); this.onRange(null); }),
        },
      },
      scales: { x: { time: true, range: (_u, min, max) => [min, max] }, y: { distr: isLog ? 3 : 1, clamp: (_u, _v, low) => low / 10, range: () => this.vertical() } },
      axes: [
        { ...axis, splits: (u, _i, min, max) => timeTicks([min, max], across(u)).times, values: (u) => timeTicks([u.scales.x.min, u.scales.x.max], across(u)).labels, size: 38, gap: 4 },
        { ...axis, label: this.channel.units, labelSize: 18, labelFont: "12px system-ui", size: 54, gap: 6,
          splits: (u, _i, min, max) => valueTicks([min, max], isLog, Math.max(down(u) / 34, 2)), filter: (_u, values) => values, values: (_u, values) => valueLabels(values, isLog) },
      ],
      series: [{}, ...LINES.map(line)],
      bands: [{ series: [INDEX.high, INDEX.low], fill: () => colour("band") }],
      hooks: {
        drawClear: [(u) => this.flags(u)],
        draw: [(u) => this.plumes(u), (u) => this.zone(u)],
        setCursor: [(u) => this.onHover(u.cursor.left >= 0 ? u.posToVal(u.cursor.left, "x") : null, this)],
        setSelect: [(u) => {
          const { left, width } = u.select, range = [left, left + width].map((x) => u.posToVal(x, "x"));
          u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
          if (width >= LEAST) this.onSelect(range);
        }],
      },
    };
  }

  /** Hatched flags below the lines, and the marked plume. */
  flags(u) {
    const { ctx, bbox } = u, { range } = this, px = devicePixelRatio || 1, bottom = bbox.top + bbox.height, at = (ms) => u.valToPos(ms, "x", true);
    clipped(u, () => {
      if (this.shown.marked) {
        const [left, right] = this.shown.marked.map(at);
        ctx.fillStyle = ctx.strokeStyle = colour("plume");
        ctx.globalAlpha = 0.16; ctx.fillRect(left, 0, right - left, bottom); ctx.globalAlpha = 1;
        ctx.lineWidth = 1.5 * px;
        ctx.setLineDash([4 * px, 3 * px]); ctx.strokeRect(left, 0, right - left, bottom + 9); ctx.setLineDash([]);
      }
      for (const [from, to] of this.shown.clean ?? []) {
        ctx.fillStyle = colour("band");
        ctx.fillRect(at(from), bbox.top, Math.max(at(to) - at(from), 1), bbox.height);
      }
      for (const [from, to, kind, , share] of this.data.flags) {
        if (to < range[0] || from > range[1]) continue;
        const left = at(from), wide = Math.max(at(to) - left, 1), tall = HATCHES[kind].height * px;
        ctx.fillStyle = hatchPattern(ctx, kind, px);
        if (isTallFlag(kind, share)) { ctx.globalAlpha = 0.35; ctx.fillRect(left, bbox.top, wide, bbox.height); ctx.globalAlpha = 1; }
        ctx.fillRect(left, bottom - tall, wide, tall);
      }
    });
  }

  /** Plumes above the lines, and the user's marks with their notes. */
  plumes(u) {
    const { ctx, bbox } = u, px = devicePixelRatio || 1, at = (ms) => u.valToPos(ms, "x", true);
    clipped(u, () => {
      ctx.fillStyle = colour("plume");
      for (const { onset, end } of this.shown.encounters) ctx.fillRect(at(onset), px, Math.max(at(end) - at(onset), 3 * px), BAR * px);
      ctx.strokeStyle = ctx.fillStyle = colour("ink");
      ctx.lineWidth = px;
      ctx.font = `${11 * px}px system-ui`;
      Object.assign(ctx, { textBaseline: "top", textAlign: "left" });
      for (const { time, note } of this.shown.marks) {
        ctx.setLineDash([px, 2 * px]);
        ctx.beginPath(); ctx.moveTo(at(time), bbox.top); ctx.lineTo(at(time), bbox.top + bbox.height); ctx.stroke();
        const words = `⚑ ${note}`.slice(0, 40), wide = ctx.measureText(words).width, isLeft = at(time) + wide + 6 * px > bbox.left + bbox.width;
        ctx.fillText(words, at(time) + (isLeft ? -wide - 4 * px : 4 * px), bbox.top + 2 * px);
      }
    });
  }

  /** The zone of the times in the corner of the axes. */
  zone(u) {
    const { ctx, bbox } = u, px = devicePixelRatio || 1;
    ctx.save();
    Object.assign(ctx, { font: `${12 * px}px system-ui`, fillStyle: colour("soft"), textAlign: "left", textBaseline: "top" });
    ctx.fillText(zoneName(this.range[0]), 0, bbox.top + bbox.height + 5 * px);
    ctx.restore();
  }

  /** A vertical range that shows the estimate whole and all but the rarest spikes of the raw record. */
  vertical() {
    if (this.zoomed) return this.zoomed;
    const { data: mine, shown: { isLog } } = this;
    const known = (values) => Float64Array.from((values ?? []).slice(this.first, this.last + 1).filter((v) => v !== null && (!isLog || v > 0)));
    const raw = known(mine.raw).sort(), cut = mine.estimate ? Math.floor(raw.length * 0.002) : 0;
    let low = raw.length ? raw[cut] : Infinity, high = raw.length ? raw[raw.length - 1 - cut] : -Infinity;
    const other = this.shown.other?.channels[this.channel.name].estimate; // counted too: both are shown in turn on one scale
    for (const values of [mine.estimate, mine.truth, other]) for (const v of known(values)) { if (v < low) low = v; if (v > high) high = v; }
    if (!(high >= low)) return isLog ? [0.1, 1] : [0, 1];
    if (isLog) return [Math.max(low, raw[Math.floor(raw.length * 0.01)] ?? 0, high / DEEPEST_AXIS) / 1.2, high * 1.2];
    const pad = 0.06 * (high - low || Math.abs(high) || 1);
    return [low - 1.4 * pad, high + 1.4 * pad];
  }

  /** Put the cursor at a time; returns the values there as text, or null outside of the range shown. */
  point(ms, isSource) {
    const { plot, shown, range } = this;
    this.tip.hidden = true;
    const isInside = plot && ms !== null && ms >= range[0] && ms <= range[1];
    if (plot && !isSource) plot.setCursor({ left: isInside ? plot.valToPos(ms, "x") : -10, top: 0 }, false);
    const i = plot?.cursor.idx;
    if (!isInside || !isNumber(i)) return null;
    this.at = shown.series.time[i];
    return this.reading(i);
  }

  /** The values of sample `i` and its flags as text. */
  reading(i) {
    const { shown: { series, other }, data: mine, channel } = this, estimate = mine.estimate?.[i], of = (word, value) => (isNumber(value) ? `${word} ${number(value)}` : null);
    const interval = isNumber(mine.high?.[i]) ? ` (${number(mine.low[i])} – ${number(mine.high[i])})` : "";
    const parts = [
      shownStamp(series.time[i], series.time),
      isNumber(estimate) && `${number(estimate)} ${channel.units}${interval}`,
      of("reading", mine.response?.[i]),
      other?.time.length === series.time.length && of("compared", other.channels[channel.name].estimate?.[i]),
      of("truth", mine.truth?.[i]),
      `raw ${number(mine.raw?.[i])}${isNumber(estimate) ? "" : ` ${channel.units}`}`,
      ...this.flagsAt(series.time[i]).map(({ name, some }) => `⚑ ${name}${some}`),
    ];
    return parts.filter(Boolean).join(" · ");
  }

  /** Names of the flags at a time; many short stretches of a long record are joined, of which only `some` samples are flagged. */
  flagsAt(ms) {
    const found = this.data.flags.filter(([from, to]) => ms >= from && ms < to);
    return found.flatMap(([, , , names, share]) => names.split(", ").map((name) => ({ name, some: share < 1 ? ` (${percent(share)} of the samples here)` : "" })));
  }

  /** Explain the flags at the cursor beside it; `words` by name of the flag. Returns the explanation. */
  explain(words) {
    const text = this.flagsAt(this.at).map(({ name, some }) => `${name}${some}: ${words[name] ?? ""}`).join("\n"), { plot, tip } = this;
    tip.hidden = !text;
    if (!text) return "";
    tip.textContent = text;
    const wide = plot.over.clientWidth, x = plot.valToPos(this.at, "x");
    tip.style.left = `${Math.max(Math.min(x + 12, wide - tip.offsetWidth), 0)}px`;
    return text;
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

/** The repeated hatch of a kind of flag in its colour. */
function hatchPattern(ctx, kind, px) {
  const tile = el("canvas", { width: Math.round(TILE * px), height: Math.round(TILE * px) }), g = tile.getContext("2d");
  g.scale(tile.width / TILE, tile.height / TILE);
  g.strokeStyle = colour(`flag${kind}`);
  g.lineWidth = 1.4;
  g.stroke(new Path2D(HATCHES[kind].path));
  return ctx.createPattern(tile, "repeat");
}
