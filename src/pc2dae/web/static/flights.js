// The list of flights in the sidebar.

import { get, remove } from "./api.js";
import { $, ask, el, fill, show } from "./view/dom.js";
import { day, duration } from "./view/format.js";

let flights = [];
let shown = null;
let asking = null;

export const knownFlights = () => flights;

export async function listFlights() {
  asking ??= get("/api/flights").finally(() => { asking = null; });
  try { flights = await asking; } catch { return flights; }
  draw();
  return flights;
}

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

const STATES = { queued: "waiting", working: "reading", failed: "failed" };

function draw() {
  fill($("flights"), flights.map((flight) => {
    const words = flight.state === "ready" ? [day(flight.start ?? flight.created), duration(flight.span_s)].join(" · ") : STATES[flight.state];
    return el("li", { class: flight.id === shown ? "is-shown" : null },
      el("a", { href: `#/flight/${flight.id}`, "aria-current": flight.id === shown ? "true" : null, title: flight.error || flight.name },
        el("b", {}, flight.name), el("span", { class: flight.state === "failed" ? "bad" : null }, flight.gallery ? `simulated · ${words}` : words)),
      !flight.gallery && el("button", { type: "button", title: "Delete", "aria-label": `Delete ${flight.name}`, onclick: () => forget(flight) }, "✕"));
  }));
}

async function forget(flight) {
  if (!(await ask(`Delete ${flight.name} and everything made from it from this station?`, "Delete"))) return;
  await remove(`/api/flights/${flight.id}`).catch((problem) => {
    $("drop-problem").textContent = problem.line;
    show($("drop-problem"), problem.status !== 404); // already deleted
  });
  await listFlights();
  if (flight.id === shown) location.hash = "#/";
}
