// @ts-check
// Concentration against height: the samples of the range shown over the median and the 10 to 90 % range of each layer.

import { cleared, line, roundValues } from "./canvas.js";
import { $, colour, el } from "./dom.js";
import { isNumber, ticks } from "./format.js";

const MOST_SAMPLES = 2000; // dots
const EDGE = { left: 48, right: 14, top: 24, bottom: 38 };

export class Profile {
  constructor() {
    this.canvas = el("canvas", { role: "img", "aria-label": "Height profile: concentration against height" });
    this.ring = el("div", { class: "here", hidden: true });
    $("profile").replaceChildren(this.canvas, this.ring);
    new ResizeObserver(() => this.paint()).observe(this.canvas);
  }

  /** Draw {track, channel, values, scale, range, profile}. */
  draw(shown) {
    this.shown = shown;
    this.paint();
  }

  paint() {
    if (!this.shown || !this.canvas.clientWidth) return;
    const { track: { time, altitude }, channel, values, scale, range: [from, to], profile } = this.shown, mine = profile.channels[channel.name];
    const [g, width, height] = cleared(this.canvas), right = width - EDGE.right, bottom = height - EDGE.bottom;
    const [lowest, highest] = [profile.height[0] - profile.depth / 2, profile.height.at(-1) + profile.depth / 2];
    this.x = (v) => EDGE.left + Math.min(Math.max(scale.place(v, ...scale.ends), 0), 1) * (right - EDGE.left);
    this.y = (h) => bottom - ((h - lowest) / (highest - lowest)) * (bottom - EDGE.top);
    this.axes(g, { right, bottom, lowest, highest });
    for (const [k, h] of profile.height.entries()) {
      if (!isNumber(mine.median[k])) continue;
      g.fillStyle = colour("band");
      g.fillRect(this.x(mine.low[k]), this.y(h + profile.depth / 2), Math.max(this.x(mine.high[k]) - this.x(mine.low[k]), 1), this.y(h - profile.depth / 2) - this.y(h + profile.depth / 2));
    }
    const shown = [...time.keys()].filter((i) => time[i] >= from && time[i] <= to && isNumber(altitude[i]) && isNumber(values[i]));
    for (const i of shown.filter((_, n) => n % Math.ceil(shown.length / MOST_SAMPLES) === 0)) {
      g.fillStyle = scale.shade(values[i]);
      const x = this.x(values[i]), y = this.y(altitude[i]);
      g.beginPath();
      if (values[i] > scale.ends[1]) { g.moveTo(x - 4, y - 4); g.lineTo(x + 4, y); g.lineTo(x - 4, y + 4); } // beyond the axis
      else g.arc(x, y, 2, 0, 7);
      g.fill();
    }
    line(g, mine.median.map((v) => isNumber(v) ? this.x(v) : 0), profile.height.map((h, k) => isNumber(mine.median[k]) ? this.y(h) : null), { stroke: colour("estimate"), width: 2.2 });
  }

  axes(g, { right, bottom, lowest, highest }) {
    const { scale, channel, profile } = this.shown, heights = roundValues(lowest, highest, 4), words = ticks(heights);
    g.strokeStyle = colour("line"); g.fillStyle = colour("soft"); g.lineWidth = 1;
    const rule = (...points) => { g.beginPath(); for (const [x, y] of points) g.lineTo(x, y); g.stroke(); };
    g.textAlign = "right";
    heights.forEach((h, i) => { rule([EDGE.left, this.y(h)], [right, this.y(h)]); g.fillText(words[i], EDGE.left - 6, this.y(h) + 4); });
    g.textAlign = "center";
    for (const [v, text] of scale.marks(Math.max(Math.floor((right - EDGE.left) / 70), 2), ...scale.ends)) {
      rule([this.x(v), EDGE.top], [this.x(v), bottom]);
      g.fillText(text, Math.min(this.x(v), right), bottom + 15);
    }
    g.textAlign = "left";
    g.fillText(`${profile.label} [m]`, 2, 13, right);
    g.textAlign = "right";
    g.fillText(`${channel.name} [${channel.units}]`, right, bottom + 31);
    g.textAlign = "left";
  }

  /** Draw a ring at sample `i` of the track; -1 for none. */
  point(i) {
    if (!this.x) return;
    const { track: { altitude }, values } = this.shown;
    this.ring.hidden = i < 0 || !isNumber(altitude[i]) || !isNumber(values[i]);
    if (this.ring.hidden) return;
    this.ring.style.left = `${this.x(values[i])}px`;
    this.ring.style.top = `${this.y(altitude[i])}px`;
  }
}
