// @ts-check
// One live channel: the value in large type and a canvas strip of the last minutes, light enough for a tablet.

import { isAlarmed } from "./alarms.js";
import { limitControl, limitOf } from "./limits.js";
import { marks } from "./marks.js";
import { colour, el } from "./view/dom.js";
import { band, cleared, line, roundValues } from "./view/canvas.js";
import { clock, isNumber, number, TARGETS, ticks, units } from "./view/format.js";

const LEFT = 46; // px for the scale

export class Strip {
  constructor(channel) {
    this.channel = channel;
    this.rows = [];
    this.window_s = 300;
    this.value = el("p", { class: "value" }, "–");
    this.brief = el("button", { type: "button", class: "brief", onclick: () => this.card.scrollIntoView({ block: "center" }) });
    this.target = el("p", { class: "note target" });
    this.canvas = el("canvas", { role: "img", "aria-label": `${channel.name}, the last minutes` });
    this.card = el("section", { class: "card live", "data-channel": channel.name, "aria-label": channel.name },
      el("div", { class: "row" }, el("h3", {}, channel.name), limitControl(channel)), this.value, this.target, this.canvas);
    this.watcher = new IntersectionObserver(([entry]) => {
      this.isSeen = entry.isIntersecting;
      this.draw(this.window_s);
    });
    this.watcher.observe(this.canvas);
  }

  /** Say whether the estimate is of the air or of the reading, and why not of the air. */
  name(target) {
    const why = target === "response" ? this.channel.lag_not_corrected : "";
    this.target.textContent = [TARGETS[target], why].filter(Boolean).join("; ");
    this.target.dataset.target = target;
  }

  /** Values of an earlier time are labelled, and still readable. */
  setStale(isStale) { for (const part of [this.card, this.brief]) part.classList.toggle("is-stale", isStale); }

  forget() { this.watcher.disconnect(); }
  clear() { this.rows = []; }
  mark() { this.card.classList.toggle("is-alarm", isAlarmed(this.channel.name)); this.brief.classList.toggle("is-alarm", isAlarmed(this.channel.name)); }

  add(row, kept_s) {
    const last = this.rows.at(-1);
    if (last && row.time < last.time) { // late samples are inserted in order
      const at = this.rows.findIndex((r) => r.time > row.time);
      this.rows.splice(at, 0, row);
    } else this.rows.push(row);
    while (this.rows[0].time < this.rows.at(-1).time - 1000 * kept_s) this.rows.shift();
  }

  draw(window_s) {
    this.window_s = window_s;
    const last = this.rows.at(-1), { canvas } = this;
    this.mark();
    if (!last) return;
    const spread = isNumber(last.sigma) ? ` ± ${number(last.sigma, 2)}` : "", unit = units(this.channel.units);
    this.value.replaceChildren(number(last.value), el("small", {}, `${spread} ${unit}`), el("span", { class: "stale" }, "stale"));
    this.brief.replaceChildren(el("span", {}, `${this.channel.name} `, el("small", {}, unit), el("span", { class: "stale" }, "stale")), el("b", {}, number(last.value)));
    if (!this.isSeen || !canvas.clientWidth) return;
    const [g, width, height] = cleared(canvas);
    const from = last.time - 1000 * window_s, rows = this.rows.filter((r) => r.time >= from);
    const known = extent(rows);
    if (!known) return;
    const [low, high] = known, foot = height - 16;
    const x = (ms) => LEFT + ((ms - from) / (1000 * window_s)) * (width - LEFT - 2), y = (v) => foot - 2 - ((v - low) / (high - low)) * (foot - 8);
    this.frame(g, { width, foot, low, high, from, to: last.time, y });
    const xs = rows.map((r) => x(r.time)), ys = (key) => rows.map((r) => (isNumber(r[key]) ? y(r[key]) : null));
    line(g, xs, ys("raw"), { stroke: colour("raw") });
    line(g, xs, ys("reading"), { stroke: colour("response"), width: 1.2 });
    band(g, xs, ys("low"), ys("high"), colour("band"));
    line(g, xs, ys("value"), { stroke: colour("estimate"), width: 2.2 });
    marks().forEach((mark, i) => { if (mark.time >= from && mark.time <= last.time) flag(g, x(mark.time), foot, String(i + 1)); });
    const { above, below } = limitOf(this.channel.name);
    for (const limit of [above, below]) if (limit !== null && limit >= low && limit <= high) line(g, [LEFT, width], [y(limit), y(limit)], { stroke: colour("alarm"), width: 1.5, dash: [6, 4] });
  }

  frame(g, { width, foot, low, high, from, to, y }) {
    g.fillStyle = colour("soft"); g.strokeStyle = colour("line"); g.lineWidth = 1;
    const values = roundValues(low, high, 2.5), words = ticks(values);
    g.textAlign = "right";
    values.forEach((v, i) => { g.fillText(words[i], LEFT - 6, y(v) + 4); g.beginPath(); g.moveTo(LEFT, y(v)); g.lineTo(width, y(v)); g.stroke(); });
    g.textAlign = "left";
    g.fillText(clock(from), LEFT, foot + 13);
    g.textAlign = "right"; g.fillText(`${clock(to)} UTC`, width, foot + 13); g.textAlign = "left";
  }
}

/** A mark: a dashed line with its number. */
function flag(g, x, foot, label) {
  line(g, [x, x], [10, foot], { stroke: colour("mark"), width: 1.5, dash: [2, 3] });
  g.fillStyle = colour("mark");
  g.textAlign = "center"; g.fillText(label, x, 9); g.textAlign = "left";
}

/** The range of the drawn values with a margin. */
function extent(rows) {
  let low = Infinity, high = -Infinity;
  for (const r of rows) for (const v of [r.value, r.low, r.high, r.raw, r.reading]) if (isNumber(v)) { if (v < low) low = v; if (v > high) high = v; }
  if (!(high >= low)) return null;
  const pad = 0.06 * (high - low || Math.abs(high) || 1);
  return [low - pad, high + pad];
}
