// @ts-check
// The list of flights in the sidebar.

import { get, post, remove } from "./api.js";
import { $, el, fill, show } from "./view/dom.js";
import { day, duration } from "./view/format.js";

let flights = [];
let shown = null;
let asking = null;
let fractions = {}; // progress by job
const FEW = 8; // flights that need no filter
const UNDO_MS = 10_000;

export const knownFlights = () => flights;

export async function listFlights() {
  asking ??= get("/api/flights").finally(() => { asking = null; });
  try { flights = await asking; } catch { return flights; }
  if (isBusy()) {
    fractions = Object.fromEntries((await get("/api/jobs").catch(() => [])).map((job) => [job.id, job.state === "working" ? job.fraction : null]));
    clearTimeout(soon);
    soon = setTimeout(listFlights, 1000);
  }
  draw();
  return flights;
}
let soon = 0;

/** The flight to show when the address names none: the newest that is ready, else the gallery's. */
export async function flightsAtStart() {
  const all = await listFlights();
  const first = all.find((flight) => !flight.gallery && flight.state === "ready") ?? all.find((flight) => flight.gallery) ?? all[0];
  return first?.id;
}

/** The state of the flight shown may be newer than the list. */
export function noteState(detail) {
  if (flights.find((flight) => flight.id === detail.id)?.state !== detail.state) listFlights();
}

export const isBusy = () => flights.some((flight) => flight.state === "queued" || flight.state === "working");

export function markShown(id) {
  shown = id;
  if (id) $("tab-flight").href = `#/flight/${id}`; // from the live view back to the flight that was shown
  draw();
}

const stateOf = (flight) => {
  if (flight.state === "ready") return [day(flight.start ?? flight.created), duration(flight.span_s)].join(" · ");
  if (flight.state === "failed") return flight.questions?.length ? "needs answers" : "failed";
  const share = fractions[flight.job];
  return flight.state === "queued" || share === null || share === undefined ? "waiting" : `reading, ${Math.round(100 * share)} %`;
};

function draw() {
  show($("filter"), flights.length > FEW);
  const wanted = $("filter").hidden ? "" : $("filter").value.trim().toLowerCase();
  const fits = (flight) => [flight.name, flight.notes, flight.suite, ...(flight.tags ?? [])].join(" ").toLowerCase().includes(wanted);
  const found = flights.filter(fits);
  fill($("flights"), found.map((flight) => {
    const isBad = flight.state === "failed" && !flight.questions?.length;
    const tags = (flight.tags ?? []).map((tag) => el("i", { class: "tag" }, tag));
    return el("li", { class: flight.id === shown ? "is-shown" : null },
      el("a", { href: `#/flight/${flight.id}`, "aria-current": flight.id === shown ? "true" : null, title: flight.error || flight.name },
        el("b", {}, flight.name), el("span", { class: isBad ? "bad" : null }, flight.gallery ? `simulated · ${stateOf(flight)}` : stateOf(flight)),
        flight.state === "working" && el("progress", { max: 1, value: fractions[flight.job] ?? null, "aria-label": `Reading ${flight.name}` }), tags.length > 0 && el("span", {}, " ", tags)),
      !flight.gallery && el("button", { type: "button", title: "Delete", "aria-label": `Delete ${flight.name}`, onclick: () => forget(flight) }, "✕"));
  }), !found.length && el("li", { class: "note" }, "No flight found."));
}
$("filter").addEventListener("input", draw);

/** Delete at once, with a way back for ten seconds. */
async function forget(flight) {
  try {
    await remove(`/api/flights/${flight.id}`);
    offerUndo(flight);
  } catch (problem) {
    $("drop-problem").textContent = problem.line;
    show($("drop-problem"), problem.status !== 404); // already deleted
  }
  await listFlights();
  if (flight.id === shown) location.hash = "#/";
}

let hiding = 0;
function offerUndo(flight) {
  const toast = $("toast");
  const undo = async () => {
    show(toast, false);
    await post(`/api/flights/${flight.id}/restore`).catch(() => {});
    await listFlights();
    location.hash = `#/flight/${flight.id}`;
  };
  fill(toast, el("span", {}, `${flight.name} deleted`), el("button", { type: "button", onclick: undo }, "Undo"));
  show(toast, true);
  clearTimeout(hiding);
  hiding = setTimeout(() => show(toast, false), UNDO_MS);
}
