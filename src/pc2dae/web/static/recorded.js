// @ts-check
// A flight that was recorded live: its marks, and its live estimates beside those made after landing.

import { $, el, fill, show } from "./view/dom.js";
import { clock } from "./view/format.js";

/** @typedef {{time: number, note: string}} Mark */
/** @typedef {{id: string, method: string}} Run */

/** The run of the estimates that were received live, if there is one. @param {{runs: Run[]}} detail */
export const liveRun = (detail) => detail.runs.find((run) => run.method === "live");

/** `compare()` shows the live estimates on top of the others. @param {{recorded: boolean, marks: Mark[], runs: Run[]}} detail @param {() => void} compare */
export function showRecorded(detail, compare) {
  show($("recorded"), detail.recorded);
  if (!detail.recorded) return;
  const listed = detail.marks.map((mark, i) => el("li", {}, el("b", {}, String(i + 1)), ` ${clock(mark.time)} UTC${mark.note ? `, ${mark.note}` : ""}`));
  fill($("recorded"), el("p", { class: "row" }, el("span", {}, "Recorded live."), liveRun(detail) && el("button", { type: "button", id: "compare-live", onclick: compare }, "Compare live with offline")),
    listed.length > 0 && el("ol", { class: "marks", "aria-label": "Marks" }, listed));
}
