// @ts-check
// Marks of the live flight: a button and the key M, with a note.

import { get, post } from "./api.js";
import { subscribe } from "./live_events.js";
import { $, el, fill, show } from "./view/dom.js";
import { clock } from "./view/format.js";

/** @typedef {Schemas["Mark"]} Mark */

/** @type {Map<string, Mark>} */
const known = new Map();
/** @type {Set<() => void>} */
const callbacks = new Set();
/** @type {string | null} */
let flight = null;

/** Call back after every change. @param {() => void} callback */
export const watchMarks = (callback) => { callbacks.add(callback); };

/** The marks of the flight being received, in order. */
export const marks = () => [...known.values()].filter((mark) => mark.flight === flight).sort((a, b) => a.time - b.time);

/** @param {Mark[]} found */
function take(found) {
  for (const mark of found) known.set(mark.id, mark);
  draw();
}

function draw() {
  const shown = marks();
  fill($("marks"), shown.map((mark, i) => el("li", {}, el("b", {}, String(i + 1)), ` ${clock(mark.time)} UTC${mark.note ? `, ${mark.note}` : ""}`)));
  show($("marks"), shown.length > 0);
  for (const callback of callbacks) callback();
}

async function setMark() {
  const note = $("mark-note").value.trim();
  try {
    const mark = await post("/api/live/marks", { note });
    $("mark-note").value = "";
    $("mark-words").textContent = `Marked ${clock(mark.time)} UTC.`;
    take([mark]);
  } catch (problem) {
    $("mark-words").textContent = problem instanceof Error && "line" in problem ? String(problem.line) : String(problem);
  }
}

subscribe("mark", (mark) => take([mark]));
subscribe("open", () => get("/api/live/marks").then(take).catch(() => {}));
subscribe("state", ({ recording }) => {
  show($("mark"), Boolean(recording));
  show($("recording"), Boolean(recording));
  if (!recording) return;
  $("recording").textContent = `recording ${recording.flight}, ${recording.samples} samples`;
  if (recording.flight === flight) return;
  flight = recording.flight;
  draw();
});
$("mark").addEventListener("submit", (event) => { event.preventDefault(); setMark(); });
addEventListener("keydown", (event) => {
  const isTyping = event.target instanceof Element && event.target.matches("input, select, textarea, [contenteditable]");
  if (event.key.toLowerCase() !== "m" || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
  if (document.body.dataset.view === "live" && !$("mark").hidden) setMark();
});
