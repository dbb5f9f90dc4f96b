// What one channel's panel draws: as logged, the estimate with its band, flags as shading, plumes as bars on top.

import { colour } from "./dom.js";
import { axis, isTouch, paper, plain } from "./plotly.js";
import { count, number, units } from "./words.js";

const NOTHING = "rgba(0,0,0,0)";
const SHADED = [1, 2]; // no measurement, not believed: the whole height; the others are a strip at the foot

const line = (time, y, role, more = {}) => ({
  type: "scatter", mode: "lines", x: time, y, yaxis: "y2", name: role, line: { color: colour(role), width: 1 }, hoverinfo: "skip", ...more,
});

/** Boxes of one kind as a single path. */
const boxes = (spans, low, high, fillcolor) => ({
  type: "scatter", mode: "lines", fill: "toself", hoverinfo: "skip", fillcolor, line: { width: 0, color: NOTHING },
  x: spans.flatMap(([from, to]) => [from, from, to, to, null]), y: spans.flatMap(() => [low, high, high, low, null]),
});

export function traces(channel, series, other, encounters) {
  const data = [], mine = series.channels[channel.name], time = series.time, unit = plain(units(channel.units));
  for (const kind of [1, 2, 3, 4]) {
    const spans = mine.flags.filter((flag) => flag[2] === kind);
    if (!spans.length) continue;
    if (SHADED.includes(kind)) data.push({ ...boxes(spans, 0, 1, colour("flag" + kind)), opacity: 0.28 });
    data.push(boxes(spans, 0, 0.035, colour("flag" + kind)));
  }
  if (mine.high) {
    data.push(line(time, mine.low, "band", { line: { width: 0, color: NOTHING } }));
    data.push(line(time, mine.high, "band", { line: { width: 0, color: NOTHING }, fill: "tonexty", fillcolor: colour("band") }));
  }
  const hover = (words) => ({ hoverinfo: "y", hovertemplate: `%{y:.4~g} ${unit} ${words}<extra></extra>` });
  data.push(line(time, mine.raw, "raw", hover("as logged")));
  if (mine.truth) data.push(line(time, mine.truth, "truth", { line: { color: colour("truth"), width: 1.2 } }));
  const beside = other?.channels[channel.name]?.estimate;
  if (beside) data.push(line(other.time, beside, "other", { line: { color: colour("other"), width: 1.8, dash: "4px,2px" } }));
  if (mine.estimate) data.push(line(time, mine.estimate, "estimate", { line: { color: colour("estimate"), width: 2 }, ...hover("estimate") }));
  if (encounters.length) data.push(marks(encounters, unit));
  return data;
}

const marks = (encounters, unit) => {
  const words = encounters.map((e) => `plume ${e.number}: ${count(e.duration_s)} s, peak +${number(e.peak)} ${unit}`);
  return { type: "scatter", mode: "lines", line: { color: colour("plume"), width: 6 }, hovertemplate: "%{text}<extra></extra>",
    x: encounters.flatMap((e) => [e.onset, e.end, null]), y: encounters.flatMap(() => [0.985, 0.985, null]), text: encounters.flatMap((e, i) => [words[i], words[i], null]) };
};

export function layout(range, vertical) {
  const time = { ...axis(), type: "date", range: range.slice(), zeroline: false, hoverformat: "%H:%M:%S", tickformat: "%H:%M", nticks: innerWidth < 700 ? 4 : 9 };
  if (range[1] - range[0] < 600_000) time.tickformat = "%H:%M:%S";
  return {
    ...paper(), height: undefined, margin: { l: 58, r: 8, t: 4, b: 24 }, hovermode: "x", hoverdistance: 30,
    dragmode: isTouch() ? false : "zoom", xaxis: time, // a finger scrolls the page; the strip above zooms
    yaxis: { range: [0, 1], visible: false, fixedrange: true },
    yaxis2: { ...axis(), overlaying: "y", side: "left", tickmode: "auto", range: vertical, fixedrange: true, zeroline: true, nticks: 5, tickformat: "~s" },
  };
}

/** The vertical range that shows the estimate whole and the noise but for its rarest spikes. */
export function vertical(channel, series, range) {
  const mine = series.channels[channel.name];
  const inside = (values) => (values ?? []).filter((v, i) => v !== null && series.time[i] >= range[0] && series.time[i] <= range[1]);
  const raw = inside(mine.raw).sort((a, b) => a - b), best = [...inside(mine.estimate), ...inside(mine.truth)];
  if (!raw.length && !best.length) return [0, 1];
  const cut = mine.estimate ? Math.floor(raw.length * 0.002) : 0;
  let low = raw.length ? raw[cut] : Infinity, high = raw.length ? raw[raw.length - 1 - cut] : -Infinity;
  for (const v of best) { if (v < low) low = v; if (v > high) high = v; }
  const pad = 0.09 * (high - low || Math.abs(high) || 1);
  return [low - pad, high + 1.3 * pad];
}
