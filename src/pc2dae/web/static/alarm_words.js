// @ts-check
// Alarms in words: one line to read, one to listen to.

import { clock, day, duration, exact, number, units } from "./view/format.js";

/** @typedef {Schemas["Alarm"]} Alarm */

/** @param {Alarm} a */
export function what(a) {
  const limit = `${exact(a.limit)} ${units(a.units)}`, isOver = a.until === null;
  if (a.kind === "no_data") return `No data from ${a.channel ?? "the payload"}`;
  if (a.kind === "rise") return `${a.channel} ${isOver ? "rises" : "rose"} faster than ${limit}`;
  return `${a.channel} ${isOver ? "is" : "was"} ${a.kind} ${limit}`;
}

/** @param {Alarm} a */
const peak = (a) => (a.kind === "no_data" ? "" : `, ${a.kind === "below" ? "lowest" : "peak"} ${number(a.peak)}`);

/** @param {Alarm} a */
export const brief = (a) => (a.until === null ? `since ${clock(a.since)} UTC${peak(a)}` : `${clock(a.since)} to ${clock(a.until)} UTC${peak(a)}`);

/** @param {Alarm} a */
export function full(a) {
  const times = a.until === null ? `since ${clock(a.since)} UTC, not over` : `${clock(a.since)} to ${clock(a.until)} UTC, ${duration((a.until - a.since) / 1000)}`;
  const source = a.kind === "no_data" ? "" : ` · by the ${a.source === "raw" ? "3-s median of raw samples" : "estimate"}`;
  return `${day(a.since)} ${times}${peak(a)}${source}${a.flight ? ` · ${a.flight}` : ""}`;
}

/** As spoken: channel and value. @param {Alarm} a */
export function spoken(a) {
  const channel = (a.channel ?? "the payload").replaceAll("_", " ");
  if (a.kind === "no_data") return `Alarm: no data from ${channel}`;
  const unit = a.units.replace("-1", "").replace("min", "per minute").replace("m-3", "per cubic metre").replace("ug", "micrograms").replace("ng", "nanograms");
  return `Alarm: ${channel} ${a.kind === "rise" ? "rises by" : a.kind} ${a.kind === "rise" ? "" : `${a.limit}: `}${Number(a.peak.toPrecision(3))} ${unit}`.replace(/\s+/g, " ");
}
