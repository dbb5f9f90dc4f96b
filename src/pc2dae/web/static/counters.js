// @ts-check
// Counters of the live stream: link, estimates, messages.

import { ageWords, sampleAge } from "./link.js";
import { $, el, fill } from "./view/dom.js";
import { count, number } from "./view/format.js";

const isKnown = (value) => value !== null && value !== undefined;

function tile(value, label, { isBad = false, id = null, title = null } = {}) {
  return el("div", { class: `tile${isBad ? " bad" : ""}`, id, title }, el("b", {}, value), el("span", {}, label));
}

export function drawCounters(live) {
  const { link, counters: c } = live, age = sampleAge();
  fill($("counters"), [
    tile(age === null ? "–" : ageWords(age), "newest sample", { isBad: link.status === "silent", id: "count-age" }),
    tile(isKnown(link.latency_s) ? `${number(link.latency_s, 2)} s` : "–", "latency", { id: "count-latency", title: "from the stamp of a sample to the arrival of its estimate" }),
    tile(isKnown(link.quality) ? `${Math.round(100 * link.quality)} %` : "–", "received", { isBad: link.quality < 0.9 && isKnown(link.quality), id: "count-quality", title: "share of the samples of the last minute" }),
    tile(count(link.gaps), "gaps", { isBad: link.gaps > 0, id: "count-gaps" }),
    tile(count(c.estimates), "estimates", { id: "count-estimates" }),
    tile(count(c.lost), "lost", { isBad: c.lost > 0, id: "count-lost" }),
    tile(count(c.duplicates), "duplicated", { id: "count-duplicates" }),
    c.late > 0 && tile(count(c.late), "late"),
    c.refused > 0 && tile(count(c.refused), "refused", { isBad: true }),
  ]);
}
