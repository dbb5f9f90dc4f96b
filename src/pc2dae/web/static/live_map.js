// @ts-check
// The live map: where the drone is, its heading, height and speed, and its track coloured by a channel. No map tiles.

import { get } from "./api.js";
import { subscribe } from "./live_events.js";
import { marks, watchMarks } from "./marks.js";
import { ColourScale } from "./view/colours.js";
import { $, colour, el, fill, option, show } from "./view/dom.js";
import { clock, isNumber, number, units } from "./view/format.js";
import { arrow, Track } from "./view/track.js";

/** @typedef {{time: number, latitude: number, longitude: number, altitude: number | null, speed: number | null, values: Record<string, number | null>}} Fix */

const KEPT = 20_000; // positions
const FOLLOWED_M = 300; // width of the map that follows the drone
const LEAST_M = 60; // width of any map: a receiver at rest wanders by metres
const STEP_M = 3; // shortest way that shows a heading
const M_PER_DEGREE = 111_195;
const PAUSE_MS = 250; // between two drawings
const POINTS = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];

class LiveTrack extends Track {
  /** Also {fixes, heading, follows, flags}. @param {any} shown */
  draw(shown) { super.draw(shown); }

  /** @param {number} width @param {number} height */
  fit(width, height) {
    super.fit(width, height);
    const { track: { east, north }, follows } = this.shown, least = Math.min(width - 90, height - 60);
    this.scale = Math.min(this.scale, least / LEAST_M);
    if (!follows) return;
    const [cx, cy] = [width / 2 - 30, height / 2 - 13], scale = least / FOLLOWED_M;
    this.scale = scale;
    this.x = (/** @type {number} */ e) => cx + (e - east.at(-1)) * scale;
    this.y = (/** @type {number} */ n) => cy - (n - north.at(-1)) * scale;
  }

  paint() {
    super.paint();
    if (!this.shown || !this.canvas.clientWidth) return;
    const g = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d")), { track: { east, north }, heading, flags } = this.shown;
    const at = (/** @type {number} */ e, /** @type {number} */ n) => /** @type {[number, number]} */ ([this.x?.(e), this.y?.(n)]);
    for (const [n, e, label] of flags) this.flag(g, ...at(e, n), label);
    const [x, y] = at(east.at(-1), north.at(-1));
    g.beginPath(); g.arc(x, y, 9, 0, 7);
    g.fillStyle = colour("card"); g.fill();
    g.lineWidth = 2.5; g.strokeStyle = colour("ink"); g.stroke();
    g.fillStyle = colour("ink");
    if (heading === null) { g.beginPath(); g.arc(x, y, 4, 0, 7); g.fill(); } else arrow(g, x, y, Math.sin(heading), -Math.cos(heading), 34);
  }

  /** @param {CanvasRenderingContext2D} g @param {number} x @param {number} y @param {string} label */
  flag(g, x, y, label) {
    g.strokeStyle = g.fillStyle = colour("mark");
    g.lineWidth = 2;
    g.beginPath(); g.moveTo(x, y); g.lineTo(x, y - 20); g.stroke();
    g.beginPath(); g.moveTo(x, y - 21); g.lineTo(x + 15, y - 15); g.lineTo(x, y - 9); g.closePath(); g.fill();
    g.lineWidth = 3; g.strokeStyle = colour("card"); g.strokeText(label, x + 17, y - 11);
    g.fillStyle = colour("ink"); g.fillText(label, x + 17, y - 11);
  }
}

export class LiveMap {
  constructor() {
    /** @type {Fix[]} */
    this.fixes = [];
    /** @type {Map<number, Fix>} */
    this.byTime = new Map();
    /** @type {{eastward: number, northward: number} | null} */
    this.wind = null;
    /** @type {string | null} */
    this.flight = null;
    /** @type {{name: string, units: string}[]} */
    this.channels = [];
    this.isDue = false;
    this.track = new LiveTrack({ onHover: () => {}, onPlume: () => {}, parent: $("live-track") });
    $("live-channel").addEventListener("change", () => this.draw());
    $("live-follow").addEventListener("click", () => {
      const follows = $("live-follow").getAttribute("aria-pressed") !== "true";
      $("live-follow").setAttribute("aria-pressed", String(follows));
      this.draw();
    });
    subscribe("sample", (event) => this.takeSample(event));
    subscribe("estimate", (event) => this.takeEstimate(event));
    watchMarks(() => this.drawSoon());
    addEventListener("theme", () => this.drawSoon());
  }

  /** @param {{name: string, units: string}[]} channels */
  setChannels(channels) {
    if (channels.map((c) => c.name).join() === this.channels.map((c) => c.name).join()) return;
    this.channels = channels;
    const chosen = $("live-channel").value, smoke = channels.find((c) => /^co(?!2)/.test(c.name)) ?? channels[0];
    fill($("live-channel"), channels.map((c) => option(c.name, c.name)));
    $("live-channel").value = channels.some((c) => c.name === chosen) ? chosen : smoke?.name ?? "";
    this.drawSoon();
  }

  /** @param {any} event */
  takeSample({ flight, time, motion, wind }) {
    if (flight !== this.flight) this.restart(flight);
    if (wind && isNumber(wind.eastward)) this.wind = wind;
    if (!motion || !isNumber(motion.latitude) || this.byTime.has(time)) return;
    this.add({ time, latitude: motion.latitude, longitude: motion.longitude, altitude: motion.altitude ?? null, speed: motion.ground_speed ?? null, values: {} });
    this.drawSoon();
  }

  /** @param {any} event */
  takeEstimate({ flight, time, estimate, motion, wind }) {
    if (motion) this.takeSample({ flight, time, motion, wind }); // a sample may have been missed
    const fix = flight === this.flight ? this.byTime.get(time) : undefined;
    if (!fix) return;
    fix.values = estimate;
    this.drawSoon();
  }

  /** Another flight; its earlier track is fetched, because a page receives only the last minutes. @param {string} flight */
  restart(flight) {
    this.flight = flight;
    this.fixes = [];
    this.byTime = new Map();
    this.wind = null;
    get("/api/live/track").then((rows) => {
      if (flight !== this.flight) return;
      for (const [time, latitude, longitude, altitude] of rows) if (!this.byTime.has(time)) this.add({ time, latitude, longitude, altitude, speed: null, values: {} });
      this.drawSoon();
    }).catch(() => {});
  }

  /** @param {Fix} fix */
  add(fix) {
    this.byTime.set(fix.time, fix);
    const at = this.fixes.findLastIndex((f) => f.time <= fix.time) + 1;
    this.fixes.splice(at, 0, fix);
    if (this.fixes.length > KEPT) for (const old of this.fixes.splice(0, 1000)) this.byTime.delete(old.time);
  }

  drawSoon() {
    if (this.isDue) return;
    this.isDue = true;
    setTimeout(() => requestAnimationFrame(() => { this.isDue = false; this.draw(); }), PAUSE_MS);
  }

  draw() {
    const { fixes } = this, last = fixes.at(-1), channel = this.channels.find((c) => c.name === $("live-channel").value);
    show($("live-map"), Boolean(last));
    $("live-body").classList.toggle("has-map", Boolean(last));
    if (!last || !channel || !$("live-track").clientWidth) return;
    const home = fixes[0], wide = M_PER_DEGREE * Math.cos((home.latitude * Math.PI) / 180);
    const east = (/** @type {{longitude: number}} */ f) => ((((f.longitude - home.longitude + 540) % 360) - 180) * wide), north = (/** @type {{latitude: number}} */ f) => (f.latitude - home.latitude) * M_PER_DEGREE;
    const track = { time: fixes.map((f) => f.time), east: fixes.map(east), north: fixes.map(north), altitude: fixes.map((f) => f.altitude) };
    const values = fixes.map((f) => f.values[channel.name] ?? null), { wind } = this;
    const heading = headingOf(track), flags = marks().flatMap((m, i) => isNumber(m.motion.latitude) ? [[north(/** @type {any} */ (m.motion)), east(/** @type {any} */ (m.motion)), String(i + 1)]] : []);
    this.track.draw({ track, channel: { ...channel, units: units(channel.units) }, values, scale: new ColourScale(values, false), range: [home.time, last.time], intervals: [],
      wind: wind && [wind.eastward, wind.northward], heading, flags, follows: $("live-follow").getAttribute("aria-pressed") === "true" });
    this.figures(last, heading, speedOf(fixes, track));
  }

  /** @param {Fix} last @param {number | null} heading @param {number | null} speed */
  figures(last, heading, speed) {
    const degrees = heading === null ? null : Math.round((heading * 180) / Math.PI + 360) % 360;
    const figure = (/** @type {string} */ value, /** @type {string} */ label) => el("div", {}, el("dt", {}, label), el("dd", {}, value));
    const coordinate = (/** @type {number} */ v, /** @type {string} */ signs) => `${Math.abs(v).toFixed(5)}° ${signs[v < 0 ? 1 : 0]}`;
    fill($("live-figures"), [
      figure(isNumber(last.altitude) ? `${Math.round(last.altitude)} m` : "–", "height"),
      figure(isNumber(speed) ? `${number(speed, speed < 10 ? 2 : 3)} m/s` : "–", "ground speed"),
      figure(degrees === null ? "–" : `${degrees}° ${POINTS[Math.round(degrees / 45) % 8]}`, "heading"),
      figure(`${coordinate(last.latitude, "NS")} ${coordinate(last.longitude, "EW")}`, `position at ${clock(last.time)} UTC`),
    ]);
  }
}

/** Direction of the last few metres [rad from north], or null at rest. @param {{time: number[], east: number[], north: number[]}} track */
function headingOf({ time, east, north }) {
  const last = time.length - 1;
  for (let i = last - 1; i >= 0 && time[last] - time[i] < 10_000; i--) {
    const [dx, dy] = [east[last] - east[i], north[last] - north[i]];
    if (Math.hypot(dx, dy) >= STEP_M) return Math.atan2(dx, dy);
  }
  return null;
}

/** As sent, else by the positions of the last three seconds [m/s]. @param {Fix[]} fixes @param {{time: number[], east: number[], north: number[]}} track */
function speedOf(fixes, { time, east, north }) {
  const last = fixes.length - 1, sent = fixes[last].speed;
  if (sent !== null) return sent;
  let first = last;
  while (first > 0 && time[last] - time[first] < 3000) first--;
  return first === last ? null : (1000 * Math.hypot(east[last] - east[first], north[last] - north[first])) / (time[last] - time[first]);
}
