// @ts-check
// The track over ground in metres, north up, coloured by a channel; no map tiles, so it works offline.

import { cleared, line } from "./canvas.js";
import { $, colour, el, fill } from "./dom.js";
import { exact, isNumber, number } from "./format.js";
import { shownClock, zoneName } from "./zone.js";

const MOST = 3000; // dots
const NEAR = 14; // px
const MARGIN = { left: 14, right: 74, top: 14, bottom: 40 };
const NUMBER = 20; // px, the number of a plume
const MOST_NUMBERS = 30; // of the plumes with the highest peaks

export class Track {
  /** @type {any} */ onHover;
  /** @type {any} */ onPlume;
  /** `onHover(ms or null)`, `onPlume(index)` when a plume's number is clicked. */
  constructor({ onHover, onPlume, parent = $("track") }) {
    Object.assign(this, { onHover, onPlume });
    this.canvas = el("canvas", { role: "img", "aria-label": "Map of the track, coloured by concentration" });
    this.tip = el("div", { class: "tip", hidden: true });
    this.ring = el("div", { class: "here", hidden: true });
    this.plumes = el("div", { class: "plume-numbers" });
    parent.replaceChildren(this.canvas, this.plumes, this.ring, this.tip);
    this.canvas.addEventListener("pointermove", (event) => this.hover(event));
    this.canvas.addEventListener("pointerdown", (event) => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; onHover(null); });
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  /** Draw {track, channel, values, scale, range, intervals, wind}. */
  draw(shown) {
    this.shown = shown;
    this.paint();
  }

  paint() {
    if (!this.shown || !this.canvas.clientWidth) return;
    const { track: { time, east, north }, values, scale, range: [from, to], intervals } = this.shown;
    const [g, width, height] = cleared(this.canvas);
    this.fit(width, height);
    const xs = east.map((e) => e === null ? null : this.x(e)), ys = north.map((n) => n === null ? null : this.y(n));
    line(g, xs, ys, { stroke: colour("path"), width: 1.5 });
    const inside = [...time.keys()].filter((i) => time[i] >= from && time[i] <= to && xs[i] !== null);
    const shown = inside.filter((_, n) => n % Math.ceil(inside.length / MOST) === 0);
    const isPlume = (ms) => intervals.some(([a, b]) => ms >= a && ms <= b), dot = (i, radius) => { g.beginPath(); g.arc(xs[i], ys[i], radius, 0, 7); g.fill(); };
    g.fillStyle = colour("ink");
    for (const i of shown) if (isPlume(time[i])) dot(i, 4.6);
    for (const i of shown.filter((i) => isNumber(values[i])).sort((a, b) => values[a] - values[b])) { // plumes are drawn last
      g.fillStyle = scale.shade(values[i]);
      dot(i, 3.2);
    }
    this.dots = shown.map((i) => [xs[i], ys[i], i]);
    const start = xs.findIndex(isNumber);
    const marks = this.numbers(g, xs, ys, { x: xs[start], y: ys[start] });
    this.start(g, xs[start], ys[start], marks);
    this.colourBar(g, width, height);
    this.furniture(g, width, height);
  }

  /** Equal scales on both axes. */
  fit(width, height) {
    const ends = (list) => list.filter(isNumber).reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
    const { east, north } = this.shown.track, [west, eastern] = ends(east), [south, northern] = ends(north);
    const wide = width - MARGIN.left - MARGIN.right, tall = height - MARGIN.top - MARGIN.bottom;
    this.scale = Math.min(wide / Math.max(eastern - west, 1), tall / Math.max(northern - south, 1)); // px per metre
    this.x = (e) => MARGIN.left + wide / 2 + (e - (west + eastern) / 2) * this.scale;
    this.y = (n) => MARGIN.top + tall / 2 - (n - (south + northern) / 2) * this.scale;
  }

  /** The number of each plume beside its highest value, where it covers least; returns where they are. */
  numbers(g, xs, ys, start) {
    const { track: { time }, values, intervals } = this.shown, { clientWidth: width, clientHeight: height } = this.canvas, placed = [start];
    const every = Math.ceil(xs.length / 600), path = xs.map((x, i) => [x, ys[i]]).filter(([x], i) => x !== null && i % every === 0);
    g.strokeStyle = colour("soft");
    g.lineWidth = 1;
    const value = (i) => values[i] ?? -Infinity, fixed = [...time.keys()].filter((i) => xs[i] !== null);
    const peaks = intervals.flatMap(([from, to], plume) => {
      const mine = fixed.filter((i) => time[i] >= from && time[i] <= to);
      return mine.length ? [[plume, mine.reduce((a, b) => (value(b) > value(a) ? b : a))]] : [];
    });
    const highest = peaks.sort((a, b) => value(b[1]) - value(a[1])).slice(0, MOST_NUMBERS);
    fill(this.plumes, highest.map(([plume, peak]) => {
      const cost = ({ x, y }) => {
        if (x < NUMBER / 2 || y < NUMBER / 2 || x > width - MARGIN.right + 6 || y > height - MARGIN.bottom + 4) return Infinity;
        const near = (list, reach) => list.filter(([a, b]) => Math.hypot(a - x, b - y) < reach).length;
        return 40 * near(placed.map((p) => [p.x, p.y]), NUMBER + 2) + near(path, NUMBER / 2 + 4) + 0.1 * Math.hypot(x - xs[peak], y - ys[peak]);
      };
      const places = [20, 32, 48].flatMap((reach) => [...Array(16).keys()].map((k) => ({ x: xs[peak] + reach * Math.cos((k * Math.PI) / 8), y: ys[peak] + reach * Math.sin((k * Math.PI) / 8) })));
      const best = places.map((place) => [cost(place), place]).reduce((a, b) => (b[0] < a[0] ? b : a))[1];
      placed.push(best);
      g.beginPath(); g.moveTo(xs[peak], ys[peak]); g.lineTo(best.x, best.y); g.stroke();
      const button = el("button", { type: "button", class: "plume-number", "aria-label": `Show plume ${plume + 1}`, title: `Plume ${plume + 1}, ${shownClock(intervals[plume][0])} ${zoneName(intervals[plume][0])}`, onclick: () => this.onPlume(plume) }, el("span", {}, String(plume + 1)));
      button.style.left = `${best.x}px`;
      button.style.top = `${best.y}px`;
      return button;
    }));
    return placed.slice(1);
  }

  /** Where the record starts; the word stands on the side with more room. */
  start(g, x, y, marks) {
    g.beginPath(); g.moveTo(x, y - 7); g.lineTo(x + 7, y + 5); g.lineTo(x - 7, y + 5); g.closePath();
    g.fillStyle = colour("card"); g.strokeStyle = colour("ink"); g.lineWidth = 2;
    g.fill(); g.stroke();
    const wide = g.measureText("start").width, isFree = (left) => left > 0 && left + wide < this.canvas.clientWidth - MARGIN.right + 20 && !marks.some((m) => m.x > left - 12 && m.x < left + wide + 12 && Math.abs(m.y - y) < 18);
    const left = [x + 11, x - 11 - wide].find(isFree);
    if (left === undefined) return;
    g.strokeStyle = colour("card"); g.lineWidth = 4; g.strokeText("start", left, y + 4);
    g.fillStyle = colour("ink"); g.fillText("start", left, y + 4);
  }

  colourBar(g, width, height) {
    const { scale, channel } = this.shown, left = width - 58, top = 30, tall = height - top - MARGIN.bottom - 6;
    for (let y = 0; y < tall; y++) { g.fillStyle = scale.colourAt(1 - y / tall); g.fillRect(left, top + y, 10, 1.5); }
    g.fillStyle = colour("soft");
    for (const [v, words] of scale.marks(4)) g.fillText(words, left + 15, top + (1 - scale.place(v)) * tall + 4);
    g.textAlign = "right";
    g.fillText(channel.units, width - 2, 14);
    g.textAlign = "left";
  }

  /** Scale bar, wind and north arrow, below the track. */
  furniture(g, width, height) {
    const most = Math.min(100, 0.2 * width) / this.scale, power = 10 ** Math.floor(Math.log10(most)), y = height - 12, left = MARGIN.left; // px
    const metres = [5, 2, 1].map((m) => m * power).find((m) => m <= most), right = left + metres * this.scale;
    g.strokeStyle = g.fillStyle = colour("ink");
    g.lineWidth = 2;
    g.beginPath(); g.moveTo(left, y - 5); g.lineTo(left, y); g.lineTo(right, y); g.lineTo(right, y - 5); g.stroke();
    g.fillText(metres >= 1000 ? `${exact(metres / 1000)} km` : `${exact(Number(metres.toPrecision(1)))} m`, right + 7, y + 2);
    arrow(g, width - 12, height - 18, 0, -1, 26);
    g.fillText("N", width - 32, y);
    const { wind } = this.shown;
    if (!wind) return;
    const speed = Math.hypot(...wind), words = `wind ${speed.toFixed(1)} m/s`, at = width - 50 - g.measureText(words).width;
    g.fillText(words, at, y);
    if (speed > 0) arrow(g, at - 19, height - 18, wind[0] / speed, -wind[1] / speed, 26);
  }

  hover(event) {
    /** @param {number[]} dot */
    const distance = ([x, y]) => Math.hypot(x - event.offsetX, y - event.offsetY);
    const best = (this.dots ?? []).reduce((a, b) => (a && distance(a) <= distance(b) ? a : b), null);
    this.tip.hidden = !best || distance(best) > NEAR;
    this.onHover(this.tip.hidden ? null : this.shown.track.time[best[2]]);
    if (this.tip.hidden) return;
    const { track: { altitude, time }, values, channel } = this.shown, [x, y, i] = best;
    const height = isNumber(altitude?.[i]) ? `, ${number(altitude[i])} m` : "";
    this.tip.textContent = `${shownClock(time[i])}${height}\n${number(values[i])} ${channel.units}`;
    this.tip.style.left = `${Math.min(x + 12, this.canvas.clientWidth - this.tip.offsetWidth)}px`;
    this.tip.style.top = `${Math.max(y - 46, 0)}px`;
  }

  /** Draw a ring at sample `i` of the track; -1 for none. */
  point(i) {
    if (!this.shown || !this.x) return;
    const { east, north } = this.shown.track;
    this.ring.hidden = i < 0 || east[i] === null;
    if (this.ring.hidden) return;
    this.ring.style.left = `${this.x(east[i])}px`;
    this.ring.style.top = `${this.y(north[i])}px`;
  }
}

/** An arrow of some length [px] centred at (x, y) that points to (dx, dy). */
export function arrow(g, x, y, dx, dy, length) {
  const at = (along, across) => [x + along * length * dx - across * length * dy, y + along * length * dy + across * length * dx];
  g.lineWidth = 2;
  g.beginPath(); g.moveTo(...at(-0.5, 0)); g.lineTo(...at(0.3, 0)); g.stroke();
  g.beginPath(); g.moveTo(...at(0.5, 0)); g.lineTo(...at(0.05, 0.2)); g.lineTo(...at(0.05, -0.2)); g.closePath(); g.fill();
}
