// One channel live: the value in large type, and a strip of the last minutes drawn by hand, for that is what a tablet can do for hours.

import { colour, el } from "./dom.js";
import { clock, isNumber, number, tick, units } from "./words.js";

const LEFT = 46; // px for the scale

export class Strip {
  constructor(channel, alarms) {
    this.channel = channel;
    this.rows = [];
    this.value = el("p", { class: "value" }, "–");
    this.canvas = el("canvas", { role: "img", "aria-label": `${channel.name}, the last minutes` });
    this.limit = el("input", { type: "number", step: "any", inputmode: "decimal", placeholder: "none", "aria-label": `Alarm when ${channel.name} is above`, value: alarms.limit(channel.name) ?? "",
      onchange: (e) => { alarms.setLimit(channel.name, e.target.value === "" ? null : Number(e.target.value)); this.draw(this.window_s ?? 300, alarms); this.mark(alarms); } });
    this.card = el("div", { class: "card live", "data-channel": channel.name },
      el("div", { class: "row" }, el("h4", {}, channel.name), el("label", { class: "push" }, "alarm above", this.limit)), this.value, this.canvas);
    this.watcher = new IntersectionObserver(([entry]) => { this.isSeen = entry.isIntersecting; if (this.isSeen) this.draw(this.window_s ?? 300, alarms); });
    this.watcher.observe(this.canvas);
  }

  forget() { this.watcher.disconnect(); }
  clear() { this.rows = []; }
  mark(alarms) { this.card.classList.toggle("is-alarm", alarms.isOver(this.channel.name)); }

  add(row, kept_s) {
    const last = this.rows.at(-1);
    if (last && row.time < last.time) { // what came late goes where it belongs
      const at = this.rows.findIndex((r) => r.time > row.time);
      this.rows.splice(at, 0, row);
    } else this.rows.push(row);
    while (this.rows[0].time < this.rows.at(-1).time - 1000 * kept_s) this.rows.shift();
  }

  draw(window_s, alarms) {
    this.window_s = window_s;
    const last = this.rows.at(-1), { canvas } = this;
    this.mark(alarms);
    if (!last || !this.isSeen || !canvas.clientWidth) return;
    const spread = isNumber(last.sigma) ? ` ± ${number(last.sigma, 2)}` : "";
    this.value.replaceChildren(number(last.value), el("small", {}, `${spread} ${units(this.channel.units)}`));
    const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
    canvas.width = width * scale; canvas.height = height * scale;
    const g = canvas.getContext("2d");
    g.scale(scale, scale);
    const from = last.time - 1000 * window_s, rows = this.rows.filter((r) => r.time >= from);
    const [low, high] = extent(rows), foot = height - 16, x = (ms) => LEFT + ((ms - from) / (1000 * window_s)) * (width - LEFT - 2), y = (v) => foot - 2 - ((v - low) / (high - low)) * (foot - 8);
    this.frame(g, { width, foot, low, high, from, to: last.time, y });
    line(g, rows, (r) => r.raw, x, y, colour("raw"), 1);
    band(g, rows, x, y);
    line(g, rows, (r) => r.value, x, y, colour("estimate"), 2.2);
    const limit = alarms.limit(this.channel.name);
    if (limit !== null && limit <= high) {
      g.strokeStyle = colour("alarm"); g.lineWidth = 1.5; g.setLineDash([6, 4]);
      g.beginPath(); g.moveTo(LEFT, y(limit)); g.lineTo(width, y(limit)); g.stroke(); g.setLineDash([]);
    }
  }

  frame(g, { width, foot, low, high, from, to, y }) {
    g.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    g.fillStyle = colour("soft"); g.strokeStyle = colour("line"); g.lineWidth = 1;
    for (const v of roundValues(low, high)) { g.textAlign = "right"; g.fillText(tick(v), LEFT - 6, y(v) + 4); g.beginPath(); g.moveTo(LEFT, y(v)); g.lineTo(width, y(v)); g.stroke(); }
    g.textAlign = "left";
    g.fillText(clock(from), LEFT, foot + 13);
    g.textAlign = "right"; g.fillText(`${clock(to)} UTC`, width, foot + 13); g.textAlign = "left";
  }
}

/** From the least to the greatest of what is drawn, a little wider. */
function extent(rows) {
  let low = Infinity, high = -Infinity;
  for (const r of rows) for (const v of [r.value, r.low, r.high, r.raw]) if (isNumber(v)) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return [0, 1];
  const pad = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - pad, high + pad];
}

/** Two or three round values. */
function roundValues(low, high) {
  const rough = (high - low) / 2.5, power = 10 ** Math.floor(Math.log10(rough)), step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const found = [];
  for (let v = Math.ceil(low / step) * step; v <= high; v += step) found.push(Math.abs(v) < step / 1e6 ? 0 : v);
  return found;
}

function line(g, rows, pick, x, y, stroke, width) {
  g.strokeStyle = stroke; g.lineWidth = width; g.lineJoin = "round"; g.beginPath();
  let isDown = false;
  for (const r of rows) { const v = pick(r); if (!isNumber(v)) isDown = false; else { g[isDown ? "lineTo" : "moveTo"](x(r.time), y(v)); isDown = true; } }
  g.stroke();
}

function band(g, rows, x, y) {
  const known = rows.filter((r) => isNumber(r.low));
  if (!known.length) return;
  g.fillStyle = colour("band"); g.beginPath();
  known.forEach((r, i) => g[i ? "lineTo" : "moveTo"](x(r.time), y(r.high)));
  for (const r of known.reverse()) g.lineTo(x(r.time), y(r.low));
  g.fill();
}
