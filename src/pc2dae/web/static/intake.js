// @ts-check
// The files of a flight: recognised instruments and files that were not used.

import { el, tables } from "./view/dom.js";
import { count, duration, isNumber, number, signed } from "./view/format.js";

const HEAD = ["instrument", "file", "rows used", "rate\n[Hz]", "gaps", "clock offset", "repairs"];

const clockOf = (s) => (isNumber(s.clock_offset_s) ? `${signed(s.clock_offset_s)} s, by ${s.clock_by}` : `none (${s.clock_by})`);

/** @param {Schemas["Intake"]} intake */
export function intakeTables(intake) {
  const rows = intake.sources.map((s) => {
    const gaps = s.gaps ? `${s.gaps}, longest ${duration(s.longest_gap_s)}` : "none";
    return { cells: [s.instrument, s.file, `${count(s.rows_used)} of ${count(s.rows)}`, number(s.rate_hz), gaps, clockOf(s), (s.repairs ?? []).join("; ")] };
  });
  const ignored = (intake.ignored ?? []).map((i) => ({ cells: [i.file, i.reason] }));
  return [
    ...(rows.length ? tables([{ head: HEAD, rows, text: [0, 1, 4, 5, 6], wide: [5, 6], title: "Recognised instruments" }]) : []),
    ...(ignored.length ? tables([{ head: ["file", "reason"], rows: ignored, text: [0, 1], wide: [1], title: "Not used" }]) : []),
    ...(intake.notes ?? []).map((note) => el("p", { class: "soft" }, note)),
  ];
}
