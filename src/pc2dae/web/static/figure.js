// One channel's panel: as logged, the estimate with its band, flags as shading, plumes as bars on top.

import { colour } from "./dom.js";
import { band, cleared, line, roundTimes, roundValues } from "./draw.js";
import { clock, ticks } from "./words.js";

export const LEFT = 58, RIGHT = 10; // px beside the plot
const TOP = 12, FOOT = 22, STRIP = 5;
const SHADED = [1, 2]; // no measurement, not believed: the whole height; the others are a strip at the foot

export function paint(canvas, { channel, series, other, encounters, range }) {
  const [g, width, height] = cleared(canvas);
  if (!width) return;
  const mine = series.channels[channel.name], [low, high] = vertical(mine, series.time, range), foot = height - FOOT;
  const x = (ms) => LEFT + ((ms - range[0]) / (range[1] - range[0])) * (width - LEFT - RIGHT);
  const y = (v) => foot - STRIP - ((v - low) / (high - low)) * (foot - STRIP - TOP);
  grid(g, { width, foot, low, high, range, x, y });
  g.save();
  g.beginPath();
  g.rect(LEFT, 0, width - LEFT - RIGHT, foot);
  g.clip();
  flags(g, mine.flags, foot, x, range);
  curves(g, mine, series.time, other, channel.name, range, x, y);
  g.fillStyle = colour("plume");
  for (const e of encounters) g.fillRect(x(e.onset), 1, Math.max(x(e.end) - x(e.onset), 3), 6);
  g.restore();
}

function grid(g, { width, foot, low, high, range, x, y }) {
  g.strokeStyle = colour("line");
  g.fillStyle = colour("soft");
  g.lineWidth = 1;
  g.textAlign = "right";
  const rule = (x1, y1, x2, y2) => { g.beginPath(); g.moveTo(x1, y1); g.lineTo(x2, y2); g.stroke(); };
  const values = roundValues(low, high, 4), words = ticks(values);
  values.forEach((v, i) => { rule(LEFT, y(v), width - RIGHT, y(v)); g.fillText(words[i], LEFT - 7, y(v) + 4); });
  rule(LEFT, foot, width - RIGHT, foot);
  g.textAlign = "center";
  const [times, hasSeconds] = roundTimes(range, width - LEFT - RIGHT);
  for (const t of times) {
    rule(x(t), TOP, x(t), foot);
    if (x(t) > LEFT + 14 && x(t) < width - RIGHT - 14) g.fillText(clock(t).slice(0, hasSeconds ? 8 : 5), x(t), foot + 16);
  }
}

function flags(g, spans, foot, x, range) {
  for (const [from, to, kind] of spans) {
    if (to < range[0] || from > range[1]) continue;
    const left = x(from), wide = Math.max(x(to) - left, 1);
    g.fillStyle = colour("flag" + kind);
    if (SHADED.includes(kind)) { g.globalAlpha = 0.28; g.fillRect(left, 0, wide, foot); g.globalAlpha = 1; }
    g.fillRect(left, foot - STRIP, wide, STRIP);
  }
}

function curves(g, mine, time, other, name, range, x, y) {
  const [first, last] = inside(time, range), xs = time.slice(first, last).map(x);
  const part = (values) => values?.slice(first, last).map((v) => (v === null ? null : y(v)));
  const draw = (values, style) => values && line(g, xs, part(values), style);
  draw(mine.raw, { stroke: colour("raw"), width: 1 });
  if (mine.high) band(g, xs, part(mine.low), part(mine.high), colour("band"));
  draw(mine.truth, { stroke: colour("truth"), width: 1.4 });
  draw(mine.estimate, { stroke: colour("estimate"), width: 2 });
  const beside = other?.channels[name]?.estimate;
  if (!beside) return;
  const [a, b] = inside(other.time, range), ys = beside.slice(a, b).map((v) => (v === null ? null : y(v)));
  line(g, other.time.slice(a, b).map(x), ys, { stroke: colour("other"), width: 1.8, dash: [5, 3] });
}

/** The samples of a stretch and one more to either side, so that lines reach the edge. */
function inside(time, [from, to]) {
  let first = time.findIndex((t) => t >= from), last = time.findIndex((t) => t > to);
  if (first < 0) first = time.length;
  if (last < 0) last = time.length;
  return [Math.max(first - 1, 0), Math.min(last + 1, time.length)];
}

/** The vertical range that shows the estimate whole and the noise but for its rarest spikes. */
function vertical(mine, time, range) {
  const [first, last] = inside(time, range), known = (values) => (values ?? []).slice(first, last).filter((v) => v !== null);
  const raw = known(mine.raw).sort((a, b) => a - b), cut = mine.estimate ? Math.floor(raw.length * 0.002) : 0;
  let low = raw.length ? raw[cut] : Infinity, high = raw.length ? raw[raw.length - 1 - cut] : -Infinity;
  for (const v of [...known(mine.estimate), ...known(mine.truth)]) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return [0, 1];
  const pad = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - pad, high + 1.4 * pad];
}
