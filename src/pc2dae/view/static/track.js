// The track over ground in metres, coloured by a channel; no map tiles, so it works offline.

import { cleared, line, roundValues } from "./canvas.js";
import { $, colour, el } from "./dom.js";
import { clock, exact, isNumber, number, ticks } from "./format.js";

const MOST = 3000; // dots
const NEAR = 14; // px
const MARGIN = { left: 8, right: 74, top: 10, bottom: 26 };
const VIRIDIS = [[68, 1, 84], [72, 40, 120], [62, 74, 137], [49, 104, 142], [38, 130, 142], [31, 158, 137], [53, 183, 121], [109, 205, 89], [180, 222, 44], [253, 231, 37]];

function viridis(share) {
  const at = Math.min(Math.max(share, 0), 1) * (VIRIDIS.length - 1), i = Math.min(Math.floor(at), VIRIDIS.length - 2);
  const mix = VIRIDIS[i].map((low, k) => Math.round(low + (at - i) * (VIRIDIS[i + 1][k] - low)));
  return `rgb(${mix.join()})`;
}

export class Track {
  constructor() {
    this.canvas = el("canvas", { role: "img", "aria-label": "Track over ground" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.ring = el("div", { class: "here", hidden: true });
    $("track").replaceChildren(this.canvas, this.ring, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerdown", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  set(track) {
    this.track = track;
    $("grid").classList.toggle("no-track", !track);
    $("track-side").hidden = !track;
  }

  /** Colour by `channel` with the values of `series` for the range shown, with the plume `intervals` marked. */
  draw(channel, series, range, intervals) {
    if (!this.track || !series.channels[channel.name]) return;
    const mine = series.channels[channel.name], values = mine.estimate ?? mine.raw;
    Object.assign(this, { channel, range, intervals, values: this.track.time.map((t) => values[nearest(series.time, t)] ?? null) });
    this.paint();
  }

  paint() {
    if (!this.values || !this.canvas.clientWidth) return;
    const { time, east, north } = this.track, [from, to] = this.range, [g, width, height] = cleared(this.canvas);
    this.fit(width, height);
    const sorted = this.values.filter(isNumber).sort((a, b) => a - b), at = (q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0;
    const low = at(0.05), high = at(0.99) > low ? at(0.99) : low + 1;
    const isDark = document.documentElement.dataset.theme === "dark";
    const shade = (v) => { const share = (v - low) / (high - low); return viridis(isDark ? share : 1 - share); };
    const xs = east.map((e) => e === null ? null : this.x(e)), ys = north.map((n) => n === null ? null : this.y(n));
    line(g, xs, ys, { stroke: colour("path"), width: 1.5 });
    const inside = [...time.keys()].filter((i) => time[i] >= from && time[i] <= to && xs[i] !== null);
    const shown = inside.filter((_, n) => n % Math.ceil(inside.length / MOST) === 0);
    const isPlume = (ms) => this.intervals.some(([a, b]) => ms >= a && ms <= b), dot = (i, radius) => { g.beginPath(); g.arc(xs[i], ys[i], radius, 0, 7); g.fill(); };
    g.fillStyle = colour("ink");
    for (const i of shown) if (isPlume(time[i])) dot(i, 4.8);
    for (const i of shown.filter((i) => isNumber(this.values[i])).sort((a, b) => this.values[a] - this.values[b])) { // plumes are drawn last
      g.fillStyle = shade(this.values[i]);
      dot(i, 3.2);
    }
    this.dots = shown.map((i) => [xs[i], ys[i], i]);
    this.colourBar(g, { width, height, low, high, shade });
    this.scaleBar(g, height);
  }

  /** Equal scales on both axes. */
  fit(width, height) {
    const ends = (list) => { const known = list.filter(isNumber); return known.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]); };
    const [west, eastern] = ends(this.track.east), [south, northern] = ends(this.track.north);
    const wide = width - MARGIN.left - MARGIN.right, tall = height - MARGIN.top - MARGIN.bottom;
    this.scale = Math.min(wide / Math.max(eastern - west, 1), tall / Math.max(northern - south, 1)); // px per metre
    this.x = (e) => MARGIN.left + wide / 2 + (e - (west + eastern) / 2) * this.scale;
    this.y = (n) => MARGIN.top + tall / 2 - (n - (south + northern) / 2) * this.scale;
  }

  colourBar(g, { width, height, low, high, shade }) {
    const left = width - 60, top = 28, tall = height - top - MARGIN.bottom - 6;
    for (let y = 0; y < tall; y++) { g.fillStyle = shade(high - (y / tall) * (high - low)); g.fillRect(left, top + y, 10, 1.5); }
    g.fillStyle = colour("soft");
    const values = roundValues(low, high, 4), words = ticks(values);
    values.forEach((v, i) => g.fillText(words[i], left + 15, top + ((high - v) / (high - low)) * tall + 4));
    g.textAlign = "right";
    g.fillText(this.channel.units, width - 2, 14);
    g.textAlign = "left";
  }

  scaleBar(g, height) {
    const most = 110 / this.scale, power = 10 ** Math.floor(Math.log10(most)), y = height - 10; // px
    const metres = [5, 2, 1].map((m) => m * power).find((m) => m <= most);
    g.strokeStyle = g.fillStyle = colour("soft");
    g.lineWidth = 2;
    g.beginPath();
    g.moveTo(MARGIN.left, y - 4); g.lineTo(MARGIN.left, y); g.lineTo(MARGIN.left + metres * this.scale, y); g.lineTo(MARGIN.left + metres * this.scale, y - 4);
    g.stroke();
    g.fillText(`${exact(metres)} m`, MARGIN.left + metres * this.scale + 8, y + 1);
    g.fillText("N ↑", this.canvas.clientWidth - 22, y + 1);
  }

  hover(event) {
    const { altitude, time } = this.track, distance = ([x, y]) => Math.hypot(x - event.offsetX, y - event.offsetY);
    const best = (this.dots ?? []).reduce((a, b) => (a && distance(a) <= distance(b) ? a : b), null);
    this.tip.hidden = !best || distance(best) > NEAR;
    if (this.tip.hidden) return;
    const [x, y, i] = best, height = isNumber(altitude?.[i]) ? `, ${number(altitude[i])} m` : "";
    this.tip.textContent = `${clock(time[i])}${height}\n${number(this.values[i])} ${this.channel.units}`;
    this.tip.style.left = `${Math.min(x + 12, this.canvas.clientWidth - this.tip.offsetWidth)}px`;
    this.tip.style.top = `${Math.max(y - 46, 0)}px`;
  }

  /** Draw a ring at the position at a time. */
  point(ms) {
    if (!this.track || !this.x) return;
    const i = ms === null ? 0 : nearest(this.track.time, ms), { east, north } = this.track;
    this.ring.hidden = ms === null || east[i] === null;
    this.ring.style.left = `${this.x(east[i])}px`;
    this.ring.style.top = `${this.y(north[i])}px`;
  }
}

function nearest(times, ms) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= ms) low = middle; else high = middle; }
  return ms - times[low] <= times[high] - ms ? low : high;
}
