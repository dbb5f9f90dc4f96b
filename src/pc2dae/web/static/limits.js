// @ts-check
// Limits per channel, kept by the server: the quick field on a card and the dialog with all of them.

import { get, put } from "./api.js";
import { $, el, fill, show } from "./view/dom.js";
import { subscribe } from "./live_events.js";
import { exact, units } from "./view/format.js";

/** @typedef {Schemas["LimitShown"]} Limit */
/** @typedef {{above: number | null, below: number | null, rise_per_min: number | null, hysteresis: number | null}} Levels */
/** @typedef {{name: string, units: string}} Channel */

const FIELDS = /** @type {const} */ (["above", "below", "rise_per_min", "hysteresis"]);

/** @type {Record<string, Limit>} */
let limits = {};
let payload = "";
/** @type {Channel | null} */
let edited = null;
/** @type {Map<string, {channel: Channel, input: HTMLInputElement, more: HTMLElement}>} */
const controls = new Map();
/** @type {Set<() => void>} */
const callbacks = new Set();

/** Call back after every change of a limit. @param {() => void} callback */
export const watchLimits = (callback) => { callbacks.add(callback); };

/** The limits that apply to a channel. @param {string} name */
export function limitOf(name) {
  const { above = null, below = null, rise_per_min = null, hysteresis = null, note = "" } = limits[name] ?? {};
  return note?.startsWith("not applied") ? { above: null, below: null, rise_per_min: null, hysteresis: null } : { above, below, rise_per_min, hysteresis };
}

/** The field "alarm above", and what else is limited. @param {Channel} channel */
export function limitControl(channel) {
  const problem = el("span", { class: "problem", role: "alert" });
  const input = el("input", {
    type: "number", step: "any", inputmode: "decimal", placeholder: "none", "aria-label": `Alarm when ${channel.name} is above`,
    onchange: () => save(channel, { ...limitOf(channel.name), above: numberIn(input) }).then(() => { problem.textContent = ""; }, (error) => { problem.textContent = error.line; }),
  });
  const more = el("span", { class: "note" });
  controls.set(channel.name, { channel, input, more });
  refresh(channel.name);
  return el("div", { class: "limit push" }, el("label", {}, "alarm above", input), more, problem);
}

/** @param {HTMLInputElement} input */
const numberIn = (input) => (input.value === "" ? null : Number(input.value));

/** @param {Channel} channel @param {Levels} limit */
async function save(channel, limit) {
  take(await put("/api/live/limits", { [channel.name]: { ...limit, units: channel.units } }));
}

/** @param {Record<string, Limit>} now */
function take(now) {
  limits = now;
  for (const name of controls.keys()) refresh(name);
  callbacks.forEach((callback) => callback());
}

/** @param {string} name */
function refresh(name) {
  const control = controls.get(name), limit = limitOf(name), note = limits[name]?.note;
  if (!control) return;
  if (document.activeElement !== control.input) control.input.value = limit.above === null ? "" : String(limit.above);
  const others = [limit.below !== null && `below ${exact(limit.below)}`, limit.rise_per_min !== null && `rise ${exact(limit.rise_per_min)} per min`].filter(Boolean);
  control.more.textContent = [others.join(", "), note].filter(Boolean).join("; ");
}

// ── the dialog ──

/** Open the dialog. @param {string} name */
export function editLimits(name) {
  const channel = controls.get(name)?.channel;
  if (!channel) return;
  edited = channel;
  const limit = limitOf(channel.name), unit = units(channel.units), note = limits[channel.name]?.note ?? "";
  $("limits-title").textContent = `Limits of ${channel.name}`;
  for (const field of FIELDS) $(`limit-${field}`).value = limit[field] ?? "";
  for (const place of document.querySelectorAll(".limit-units")) place.textContent = unit;
  $("limits-note").textContent = note;
  show($("limits-note"), Boolean(note));
  show($("limits-problem"), false);
  $("limits-dialog").showModal();
}

$("limits-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  if (!edited) return;
  /** @type {any} */
  const wanted = Object.fromEntries(FIELDS.map((field) => [field, numberIn($(`limit-${field}`))]));
  try {
    await save(edited, /** @type {Levels} */ (wanted));
    $("limits-dialog").close();
  } catch (error) {
    $("limits-problem").textContent = error.line ?? String(error);
    show($("limits-problem"), true);
  }
});
$("limits-cancel").addEventListener("click", () => $("limits-dialog").close());

const load = () => get("/api/live/limits").then(take, () => {});
subscribe("open", load);
subscribe("limits", load); // set on another page
subscribe("state", (now) => { // other channels or units: other limits apply
  const channels = JSON.stringify([now.channels, now.calibrated]);
  if (channels !== payload) load();
  payload = channels;
});
