// @ts-check
// Ticks of the axes, the same on the screen, on paper and in pictures.

import { roundValues } from "./canvas.js";
import { ticks } from "./format.js";
import { ahead, shownClock, shownDay, zoneChoice } from "./zone.js";

const STEPS_S = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400, 172_800, 604_800, 2_592_000];
const LABEL = 84; // px, a date with some room

/** Times [ms] of an axis that is `width` px wide and their labels: the date below the first and wherever the day changes. */
export function timeTicks([from, to], width) {
  const most = Math.max(width / LABEL, 1.5), step = 1000 * (STEPS_S.find((s) => (to - from) / (1000 * s) <= most) ?? STEPS_S.at(-1));
  const shift = ahead(from), times = [];
  for (let ms = Math.ceil((from + shift) / step) * step - shift; ms <= to; ms += step) times.push(ms);
  const room = (ms) => ((to - ms) / (to - from)) * width, left = zoneChoice() === "local" ? 26 : 0; // px to the right edge; for the name of the zone
  let last = "";
  const labels = times.map((ms) => {
    if (room(ms) < 20 || width - room(ms) < left) return ""; // the edge would cut it
    const time = shownClock(ms).slice(0, step < 60_000 ? 8 : 5), date = shownDay(ms);
    if (date === last || room(ms) < 40) return time;
    last = date;
    return `${time}\n${date}`;
  });
  return { times, labels };
}

/** About `count` round values of an axis. */
export function valueTicks([low, high], isLog, count) {
  if (!isLog) return roundValues(low, high, count);
  const decades = [];
  for (let p = Math.floor(Math.log10(low)); 10 ** p <= high; p++) decades.push(10 ** p);
  const of = (parts) => decades.flatMap((d) => parts.map((n) => n * d)).filter((v) => v >= low && v <= high);
  const few = of([1, 2, 5]).length <= count + 1 ? of([1, 2, 5]) : of([1]);
  return few.length > 1 ? few : roundValues(low, high, count);
}

export const valueLabels = (values, isLog) => (isLog ? values.map((v) => ticks([v])[0]) : ticks(values));

/** Whether a range of values can be drawn: a link may ask for anything. */
export const isDrawable = ([low, high], isLog) => Number.isFinite(low) && Number.isFinite(high) && high - low > 1e-9 * Math.max(Math.abs(low), Math.abs(high)) && (!isLog || low > 0);
