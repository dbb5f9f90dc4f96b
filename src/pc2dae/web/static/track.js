// The track over ground in metres, coloured by a channel; no map tiles, so it works where there is no internet.

import { $, colour } from "./dom.js";
import { axis, CONFIG, paper, plain, plotly } from "./plotly.js";
import { clock, number, units } from "./words.js";

const MOST = 1000; // dots: more cannot be told apart

export class Track {
  set(track) {
    this.track = track;
    $("grid").classList.toggle("no-track", !track);
    $("track-side").hidden = !track;
  }

  /** Colour by `channel` with the values of `series`, for the stretch `range`. */
  async draw(channel, series, range) {
    if (!this.track || !channel || !series.channels[channel.name]) return;
    const Plotly = await plotly();
    const { time, east, north, altitude = [] } = this.track, mine = series.channels[channel.name];
    const values = at(series.time, mine.estimate ?? mine.raw, time);
    const within = [...time.keys()].filter((i) => time[i] >= range[0] && time[i] <= range[1] && east[i] !== null);
    const shown = within.filter((_, n) => n % Math.ceil(within.length / MOST) === 0)
      .sort((a, b) => (values[a] ?? -Infinity) - (values[b] ?? -Infinity)); // clean air flown later must not hide a plume
    const pick = (list) => shown.map((i) => list[i] ?? null);
    const sorted = values.filter((v) => v !== null).sort((a, b) => a - b);
    const [low, high] = [0.05, 0.99].map((q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0);
    const unit = plain(units(channel.units));
    const dots = {
      type: "scatter", mode: "markers", x: pick(east), y: pick(north),
      text: shown.map((i) => `${clock(time[i])}, ${number(altitude[i])} m<br>${number(values[i])} ${unit}`), hovertemplate: "%{text}<extra></extra>",
      marker: {
        size: 7, color: pick(values), cmin: low, cmax: high > low ? high : low + 1,
        colorscale: "Viridis", reversescale: document.documentElement.dataset.theme !== "dark",
        colorbar: { thickness: 10, len: 0.9, x: 1, outlinewidth: 0, tickformat: ",~r", title: { text: unit, side: "right" } },
      },
    };
    const path = { type: "scatter", mode: "lines", x: east, y: north, hoverinfo: "skip", line: { color: colour("path"), width: 1.5 } };
    const layout = { ...paper(), margin: { l: 46, r: 6, t: 8, b: 38 }, hovermode: "closest", dragmode: "pan",
      xaxis: metres("east [m]"), yaxis: { ...metres("north [m]"), scaleanchor: "x" } };
    Plotly.react($("track"), [path, dots], layout, CONFIG);
  }

  /** A ring where the drone was at that moment. */
  point(ms) {
    const div = $("track");
    if (!this.track || !div.data) return;
    const { xaxis, yaxis } = div._fullLayout, i = ms === null ? 0 : nearest(this.track.time, ms);
    $("here").hidden = ms === null || this.track.east[i] === null;
    $("here").style.left = `${xaxis._offset + xaxis.l2p(this.track.east[i])}px`; // plotly would draw all dots again to move one
    $("here").style.top = `${yaxis._offset + yaxis.l2p(this.track.north[i])}px`;
  }
}

const metres = (text) => ({ ...axis(), title: { text }, zeroline: false, constrain: "domain", automargin: true });

export function nearest(times, ms) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= ms) low = middle; else high = middle; }
  return ms - times[low] <= times[high] - ms ? low : high;
}

const at = (times, values, wanted) => wanted.map((t) => (times.length ? values[nearest(times, t)] : null));
