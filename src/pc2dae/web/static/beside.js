// @ts-check
// Another flight beside the one shown: their figures with the difference, and each channel that both have on the same scales.

import { get, query } from "./api.js";
import { timeTicks } from "./view/axes.js";
import { roundValues } from "./view/canvas.js";
import { el, fill, table } from "./view/dom.js";
import { exact, isNumber, number, plusMinus, units } from "./view/format.js";
import { shownClock, shownDay, zoneName } from "./view/zone.js";
import { SmallPlot, around } from "./small_plot.js";

const POINTS = 1500;
const SPECIES = { bc: "BC", co: "CO", co2: "CO₂", ch4: "CH₄", no: "NO", no2: "NO₂", nox: "NOₓ", so2: "SO₂", pm1: "PM1", pm25: "PM2.5", pm10: "PM10" };
const NOTE = "Difference: the other flight minus this one, ± one standard uncertainty with all errors taken as independent. "
  + "± random: without systematic errors, which cancel in the difference if both flew the same payload with the same calibration.";

/** The figures and plots of two flights. */
export async function besideFlight(parent, id, other) {
  const found = await get(query(`/api/flights/${id}/beside`, { other }));
  const series = await Promise.all(found.flights.map((f) => get(query(`/api/flights/${f.id}/series`, { run: f.run, points: POINTS }))));
  fill(parent, factTable(found), el("p", { class: "note" }, NOTE), plots(found, series));
}

function labelOf({ kind, name }) {
  if (kind === "ratio") return name === "mce" ? "MCE" : name.split("/").map((s) => `Δ${SPECIES[s] ?? s}`).join("/");
  return kind === "emission factor" ? `emission factor ${SPECIES[name] ?? name}` : name;
}

function factTable({ flights, facts }) {
  const cells = (fact) => {
    const isTime = fact.units === "s", figure = fact.kind === "flight" ? exact : plusMinus;
    const value = (i) => (isTime ? length(fact.values[i]) : figure(fact.values[i], fact.sigmas[i]));
    const apart = isTime ? length(fact.difference) : figure(fact.difference, fact.sigma);
    return [labelOf(fact), ["s", "1"].includes(fact.units) ? "" : units(fact.units), value(0), value(1), apart, isTime || fact.random_sigma === null ? "" : number(fact.random_sigma, 2)];
  };
  const head = ["", "unit", ...flights.map((f) => `${f.name}\n${shownDay(f.start)} ${shownClock(f.start).slice(0, 5)} ${zoneName(f.start)}`), "difference", "± random"];
  return table({ head, rows: facts.map((fact) => ({ cells: cells(fact) })), text: [0, 1], title: "Two flights compared" });
}

/** 9 min 40 s. */
const length = (seconds) => (isNumber(seconds) ? `${seconds < 0 ? "−" : ""}${Math.floor(Math.abs(seconds) / 60)} min ${Math.round(Math.abs(seconds)) % 60} s` : "–");

function plots({ flights, channels, unlike, is_overlapping: isOverlapping }, series) {
  const starts = flights.map((f) => (isOverlapping ? 0 : f.start)); // of the horizontal axis: elapsed, or the time itself
  const across = [Math.min(...flights.map((f, i) => f.start - starts[i])), Math.max(...flights.map((f, i) => f.end - starts[i]))];
  const shown = channels.filter(({ name }) => series.every((s) => s.channels[name]));
  const rows = shown.flatMap(({ name, long_name: words, units: unit }) => {
    const lines = series.map((s) => s.channels[name]), values = lines.map((l) => l.estimate ?? l.raw), up = around(...values);
    const pair = series.map((s, i) => {
      const plot = new SmallPlot({
        lines: [[null, 0], [null, 0], [i ? "other" : "estimate", 2, i ? [6, 2] : undefined]], units: units(unit), bands: [[2, 1]], ticks: isOverlapping ? timeTicks : elapsedTicks, title: `${name} of ${flights[i].name}`,
        onHover: (x) => { for (const other of pair) if (other !== plot) other.point(x); }, onLeave: () => { for (const other of pair) other.point(null); },
      });
      new IntersectionObserver((entries, watcher) => {
        if (!entries.some((e) => e.isIntersecting)) return;
        watcher.disconnect();
        plot.set([s.time.map((ms) => ms - starts[i]), lines[i].low ?? [], lines[i].high ?? [], values[i]], across, up);
      }, { rootMargin: "300px" }).observe(plot.element);
      addEventListener("theme", () => plot.redraw());
      return plot;
    });
    return [el("h4", { class: "across" }, `${name} `, el("span", { class: "note" }, words)),
      ...pair.map((plot, i) => el("div", { class: "card" }, el("span", { class: "note" }, flights[i].name), plot.element))];
  });
  const notes = [isOverlapping ? "Horizontal axis: time of day, because the flights overlap." : "Horizontal axis: time from the start of each flight.", unlike.length > 0 && `Not drawn, because their units differ: ${unlike.join(", ")}.`];
  return [el("p", { class: "note" }, notes.filter(Boolean).join(" ")), el("div", { class: "beside-grid" }, rows)];
}

function elapsedTicks([from, to], width) {
  const minutes = roundValues(from / 60_000, to / 60_000, width / 80);
  return { times: minutes.map((m) => 60_000 * m), labels: minutes.map((m) => `${exact(Number(m.toPrecision(4)))} min`) };
}
