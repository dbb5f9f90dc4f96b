// @ts-check
// The difference of two runs below the panel of each channel in view, with bias and RMS of the time shown.

import { get, query } from "./api.js";
import { timeTicks } from "./view/axes.js";
import { el } from "./view/dom.js";
import { number } from "./view/format.js";
import { SmallPlot, around } from "./small_plot.js";

const POINTS = 1500, COVERAGE_90 = 1.645, WAIT_MS = 160;
const KINDS = { ambient: "air", response: "reading" };

export class Differences {
  /** @type {any} */ cards;
  /** @type {import("./view/signals.js").Signals} */ signals;
  constructor(signals) {
    Object.assign(this, { signals, cards: new Map(), of: null });
    addEventListener("theme", () => { for (const { plot } of this.cards.values()) plot.redraw(); });
  }

  /** Show {flight, run, other, names}; null removes all. */
  set(of) {
    this.of = of;
    for (const { element } of this.cards.values()) element.remove();
    this.cards.clear();
    this.update();
  }

  /** The range or the panels in view have changed. */
  update() {
    clearTimeout(this.waiting);
    if (this.of) this.waiting = setTimeout(() => this.load(), this.cards.size ? WAIT_MS : 0);
  }

  async load() {
    const { of, signals } = this, { range } = signals, channels = signals.panels.visible;
    if (!of || !channels.length) return;
    this.asked?.abort();
    this.asked = new AbortController();
    const wanted = { run: of.run.id, other: of.other.id, channels: channels.join(","), from: Math.floor(range[0]), to: Math.ceil(range[1]), points: POINTS };
    const found = await get(query(`/api/flights/${of.flight}/difference`, wanted), this.asked.signal).catch((problem) => {
      if (problem.name !== "AbortError") throw problem;
    });
    if (found && this.of === of) for (const [name, mine] of Object.entries(found.channels)) this.draw(name, found.time, mine, range);
  }

  draw(name, time, { difference, sigma, bias, rms, n, targets }, range) {
    const { chart, channel } = this.signals.panels.panels.get(name), [run, other] = this.of.names;
    let card = this.cards.get(name);
    if (!card) {
      const plot = new SmallPlot({
        lines: [[null, 0], [null, 0], ["other", 1.6]], units: channel.units, bands: [[2, 1]], ticks: timeTicks, hasLabels: false, zero: true, title: `${name}: ${other} minus ${run} over time`,
        onHover: (ms) => this.signals.panels.point(ms, null), onLeave: () => this.signals.panels.point(null, null),
      });
      const words = el("p", { class: "note" });
      card = { plot, words, element: el("div", { class: "difference", "data-difference": name }, words, plot.element) };
      chart.element.after(card.element);
      this.cards.set(name, card);
    }
    const kinds = targets[0] === targets[1] ? "" : ` (${KINDS[targets[1]]} − ${KINDS[targets[0]]}: the lag is corrected in one only)`;
    const band = sigma ? "; band: 90 % of the combined noise" : "";
    card.words.textContent = `${other} − ${run}${kinds}: mean bias ${number(bias)}, RMS ${number(rms)} ${channel.units}, ${n} samples${band}`;
    const reach = (sign) => sigma?.map((s) => (s === null ? null : sign * COVERAGE_90 * s)) ?? [];
    const [low, high] = [reach(-1), reach(1)];
    const usual = high.filter((v) => v !== null).sort((a, b) => a - b)[Math.floor(0.9 * high.length)] ?? 0; // a few samples have very wide bands
    card.plot.set([time, low, high, difference], range, around(difference, [-usual, usual]));
  }

  point(ms) { for (const { plot } of this.cards.values()) plot.point(ms); }
}
