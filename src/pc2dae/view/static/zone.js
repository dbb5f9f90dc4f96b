// @ts-check
// Times in UTC or in the zone of this computer; the choice is remembered here and part of a link.

import { clock, day } from "./format.js";

let isLocal = false;
try { isLocal = localStorage.getItem("zone") === "local"; } catch { /* a private window stores nothing */ }

export const zoneChoice = () => (isLocal ? "local" : "utc");

export function chooseZone(choice, isRemembered = true) {
  isLocal = choice === "local";
  try { if (isRemembered) localStorage.setItem("zone", choice); } catch { /* as above */ }
}

const offset = (ms) => -60_000 * new Date(ms).getTimezoneOffset(); // ms that this computer's clock is ahead of UTC

/** Milliseconds by which the clock that is shown is ahead of UTC at a time. */
export const ahead = (ms) => (isLocal ? offset(ms) : 0);
export const shownClock = (ms) => clock(ms + ahead(ms));
export const shownDay = (ms) => day(ms + ahead(ms));

/** Offset of this computer's clock at a time: UTC−06:00. */
export const localName = (ms) => `UTC${offset(ms) < 0 ? "−" : "+"}${clock(Math.abs(offset(ms))).slice(0, 5)}`;

/** The zone of the times shown: UTC or UTC−06:00. */
export const zoneName = (ms) => (isLocal ? localName(ms) : "UTC");

/** A time with its date if `times` span more than one day. */
export const shownStamp = (ms, times) => (shownDay(times[0]) === shownDay(times.at(-1)) ? shownClock(ms) : `${shownDay(ms)} ${shownClock(ms)}`);
