// @ts-check
// The uncertainty budget of each channel as two stacked bars, in clean air and in plumes: shares of the variance.

import { el } from "./dom.js";
import { number } from "./format.js";

// Part: its words, and the sign that stands in its piece of a bar, so that colour is not needed to read it.
const BUDGET_PARTS = { noise: ["noise", "N"], lag: ["lag", "L"], zero: ["zero", "Z"], drift: ["drift", "D"], gain: ["gain", "G"], cross: ["cross-sensitivity", "X"], duplicates: ["duplicates disagree", "≠"] };
const READABLE_SHARE = 0.06; // share of a bar from which its sign fits

/** Bars for `channels` of a view's `budget`; null without any. */
export function budgetBars(channels) {
  if (!channels.length) return null;
  const used = Object.keys(BUDGET_PARTS).filter((part) => channels.some((c) => c.clean[part] || c.plume[part]));
  const key = el("ul", { class: "key" }, used.map((part) => el("li", {}, el("i", { class: `box b-${part}` }, BUDGET_PARTS[part][1]), BUDGET_PARTS[part][0])));
  const rows = channels.flatMap((channel) => [
    el("b", {}, channel.name),
    el("div", { class: "bars" }, bar(channel, "clean", "clean air"), bar(channel, "plume", "plumes")),
  ]);
  return el("figure", { class: "card budget" }, el("figcaption", { class: "note" },
    "Shares of the variance: upper bar in clean air, lower bar in plumes; at the right the total standard uncertainty. Bars without zero, drift and gain: not calibrated, calibration errors are not included."), key, el("div", { class: "budget-rows" }, rows));
}

function bar({ name, units, ...where }, place, words) {
  const mine = where[place], parts = Object.keys(BUDGET_PARTS).filter((part) => mine[part]), sum = parts.reduce((total, part) => total + mine[part] ** 2, 0);
  if (!sum) return null;
  const label = `${name} in ${words}: ${parts.map((part) => `${BUDGET_PARTS[part][0]} ${number(mine[part], 2)}`).join(", ")}; total ${number(mine.total, 2)} ${units}`;
  const pieces = parts.map((part) => {
    const share = mine[part] ** 2 / sum, piece = el("span", { class: `b-${part}`, title: `${BUDGET_PARTS[part][0]} ${number(mine[part], 2)} ${units}` }, share >= READABLE_SHARE && BUDGET_PARTS[part][1]);
    piece.style.flexGrow = String(share);
    return piece;
  });
  return el("div", { class: "budget-bar", role: "img", "aria-label": label }, el("div", { class: "pieces" }, pieces), el("span", { class: "total" }, `${number(mine.total, 2)} ${units}`));
}
