// @ts-check
// Colours of values: perceptually uniform, readable for colour-blind people, smoke in contrast to the page in both themes.

import { roundValues } from "./canvas.js";
import { isNumber, ticks } from "./format.js";

const MAGMA = [[59, 15, 112], [92, 22, 127], [123, 35, 130], [153, 45, 128], [186, 56, 120], [217, 70, 107], [241, 96, 93], [251, 133, 96], [254, 170, 116], [254, 207, 146]]; // matplotlib's magma from 0.2 to 0.9
const WIDE = 30; // ratio of smoke to typical air from which a logarithm shows more
const DEEPEST = 1000; // ratio of the ends of a logarithmic scale

export class ColourScale {
  /** For the values of a whole flight; a logarithm only if `wantsLog` and where it helps (`isWide`). */
  constructor(values, wantsLog) {
    const sorted = Float64Array.from(values.filter(isNumber)).sort(), at = (q) => sorted[Math.floor(q * (sorted.length - 1))] ?? 0;
    const top = at(0.995), floor = Math.max(at(0.5), top / DEEPEST);
    this.isWide = top > WIDE * floor;
    this.isLog = this.isWide && wantsLog;
    this.low = this.isLog ? floor : at(0.05);
    this.high = top > this.low ? top : this.low + 1;
    const most = this.isLog ? Infinity : 2 * this.high - this.low; // else one spike would press all others together
    this.ends = [this.isLog ? floor : at(0.001), Math.min(Math.max(at(0.999), this.high), most)]; // of an axis
  }

  /** The place of a value between two ends: 0 to 1, beyond them less or more. */
  place(v, low = this.low, high = this.high) {
    return this.isLog ? Math.log(Math.max(v, low / 2) / low) / Math.log(high / low) : (v - low) / (high - low);
  }

  shade(v) { return this.colourAt(this.place(v)); }

  colourAt(place) {
    const share = Math.min(Math.max(place, 0), 1), isDark = document.documentElement.dataset.theme === "dark";
    const at = (isDark ? share : 1 - share) * (MAGMA.length - 1), i = Math.min(Math.floor(at), MAGMA.length - 2);
    return `rgb(${MAGMA[i].map((low, k) => Math.round(low + (at - i) * (MAGMA[i + 1][k] - low))).join()})`;
  }

  /** About `count` round values and their labels from low to high. */
  marks(count, low = this.low, high = this.high) {
    if (!this.isLog) { const values = roundValues(low, high, count), words = ticks(values); return values.map((v, i) => [v, words[i]]); }
    const decades = [];
    for (let p = Math.floor(Math.log10(low)); 10 ** p <= high; p++) decades.push(10 ** p);
    const fine = decades.flatMap((d) => [d, 2 * d, 5 * d]).filter((v) => v >= low && v <= high);
    const values = fine.length <= count + 1 ? fine : decades.filter((v) => v >= low);
    return values.map((v) => [v, ticks([v])[0]]);
  }
}
