// @ts-check
// Alarms as the server judges them: a strip in every view, title, icon, sound, speech, and the list of all of them.

import { get, post } from "./api.js";
import { allowSound, beep, isBlocked, setSound, soundSettings, speak, watchSound } from "./alarm_sound.js";
import { brief, full, spoken, what } from "./alarm_words.js";
import { $, el, fill, show } from "./view/dom.js";
import { count } from "./view/format.js";
import { subscribe } from "./live_events.js";

/** @typedef {import("./alarm_words.js").Alarm} Alarm */

const REPEAT_MS = 3000;
const LISTED = 200; // in the dialog; the export has all
const PREFIX = /^\(\d+\) ⚠ /;

/** @type {Map<string, Alarm>} */
const known = new Map();
/** @type {Set<() => void>} */
const callbacks = new Set();
let isFirst = true, isLive = false, beeped = 0, problem = "";

/** Call back after every change of an alarm. @param {() => void} callback */
export const watchAlarms = (callback) => { callbacks.add(callback); };

/** Whether an alarm of a channel is not over. @param {string} channel */
export const isAlarmed = (channel) => [...known.values()].some((a) => a.channel === channel && a.until === null);

/** The server sends past events to a new page, and after a reconnection the list may be newer than an event. @param {Alarm[]} alarms */
function take(alarms) {
  for (const alarm of alarms) {
    const before = known.get(alarm.id);
    if (before && before.changed >= alarm.changed) continue;
    known.set(alarm.id, alarm);
    const isNew = !alarm.seen && alarm.calls > (before?.calls ?? 0);
    if (isNew && (alarm.until === null || !isFirst)) announce(alarm);
  }
  draw();
}

/** @param {Alarm} alarm */
function announce(alarm) {
  $("announce").textContent = `Alarm: ${what(alarm)}, ${brief(alarm)}`;
  beeped = performance.now();
  beep(alarm.kind === "no_data");
  speak(spoken(alarm));
}

/** Alarms to act on: not acknowledged or not over; the most urgent first. */
function pending() {
  const rank = (/** @type {Alarm} */ a) => (a.seen ? 2 : a.until === null ? 0 : 1);
  return [...known.values()].filter((a) => !a.seen || a.until === null).sort((a, b) => rank(a) - rank(b) || b.raised - a.raised);
}

/**
 * Draw alarms; while they are the same ones, only their words change, so that a button keeps focus and gets its click.
 * @param {HTMLElement} parent @param {Alarm[]} alarms @param {(a: Alarm) => HTMLElement} make @param {(a: Alarm) => string} words @param {any[]} others
 */
function redraw(parent, alarms, make, words, others) {
  const drawn = JSON.stringify([alarms.map((a) => [a.id, a.seen, a.until === null]), others.map((o) => o && o.textContent)]);
  if (parent.dataset.drawn !== drawn) {
    const focused = document.activeElement?.closest("[data-alarm]")?.getAttribute("data-alarm");
    parent.dataset.drawn = drawn;
    fill(parent, alarms.map(make), others);
    if (focused) /** @type {HTMLElement | null} */ (parent.querySelector(`[data-alarm="${focused}"] button`))?.focus();
  }
  for (const a of alarms) /** @type {Element} */ (parent.querySelector(`[data-alarm="${a.id}"] .alarm-words`)).textContent = words(a);
}

function draw() {
  const alarms = pending(), most = matchMedia("(max-width: 640px)").matches ? 1 : 3;
  const isSilenced = isBlocked() && (isLive || alarms.length > 0);
  const unseen = alarms.filter((a) => !a.seen).length;
  redraw($("alarm-strip"), alarms.slice(0, most), line, brief, [
    alarms.length > most && el("button", { type: "button", class: "link", onclick: openList }, `and ${alarms.length - most} more`),
    unseen > 2 && el("button", { type: "button", class: "alarm-all", onclick: () => acknowledge(null) }, `Acknowledge all ${unseen}`),
    isSilenced && el("button", { type: "button", class: "alarm-allow", onclick: allowSound }, "Click to allow sound"),
    problem && el("span", { class: "problem" }, problem),
  ]);
  show($("alarm-strip"), alarms.length > 0 || isSilenced);
  $("alarm-strip").classList.toggle("is-calm", alarms.length === 0);
  const active = alarms.filter((a) => a.until === null).length;
  $("alarm-count").textContent = alarms.length ? String(alarms.length) : "";
  $("alarm-button").classList.toggle("is-alarm", alarms.length > 0);
  $("alarm-button").setAttribute("aria-label", alarms.length ? `Alarms: ${active} active, ${unseen} not acknowledged` : "Alarms: none");
  document.querySelector("link[rel=icon]")?.setAttribute("href", alarms.length ? "/static/icon-alarm.svg" : "/static/icon.svg");
  retitle();
  if ($("alarm-dialog").open) list();
  callbacks.forEach((callback) => callback());
}

/** @param {Alarm} a */
const line = (a) => el("div", { class: a.until === null ? "alarm is-over" : "alarm", "data-alarm": a.id },
  el("span", { class: "alarm-sign", "aria-hidden": "true" }, a.seen ? "✓" : "⚠"),
  el("span", {}, el("b", {}, what(a)), " ", el("span", { class: "alarm-words" }), a.seen ? ", acknowledged" : a.until === null ? "" : ", over"),
  !a.seen && el("button", { type: "button", "aria-label": `Acknowledge: ${what(a)}`, onclick: () => acknowledge(a.id) }, "Acknowledge"));

/** @param {string | null} id */
async function acknowledge(id) {
  try {
    const answer = await post(id === null ? "/api/live/alarms/seen" : `/api/live/alarms/${id}/seen`);
    problem = "";
    take([answer].flat());
  } catch (error) {
    problem = error.line ?? String(error);
    draw();
  }
}

/** The number of alarms stands before whatever title a view sets. */
function retitle() {
  const alarms = pending().length, plain = document.title.replace(PREFIX, "");
  const title = alarms ? `(${alarms}) ⚠ ${plain}` : plain;
  if (document.title !== title) document.title = title;
}

// ── the list ──

function openList() {
  const { sound, volume, speech } = soundSettings();
  $("sound").checked = sound;
  $("volume").value = volume;
  $("speech").checked = speech;
  list();
  $("alarm-dialog").showModal();
}

function list() {
  const newest = [...known.values()].sort((a, b) => b.raised - a.raised);
  show($("alarm-none"), newest.length === 0);
  show($("alarm-all"), newest.some((a) => !a.seen));
  const older = newest.length > LISTED && el("li", { class: "note" }, el("span", { class: "note" }, `${count(newest.length - LISTED)} older ones are in the export.`));
  redraw($("alarm-list"), newest.slice(0, LISTED), item, full, [older]);
}

/** @param {Alarm} a */
const item = (a) => el("li", { class: a.until === null ? "is-over" : null, "data-alarm": a.id },
  el("span", { class: "alarm-sign", "aria-hidden": "true" }, a.seen ? "✓" : "⚠"),
  el("div", {}, el("b", {}, what(a)), el("p", { class: "note alarm-words" })),
  a.seen ? el("span", { class: "note" }, "acknowledged") : el("button", { type: "button", "aria-label": `Acknowledge: ${what(a)}`, onclick: () => acknowledge(a.id) }, "Acknowledge"));

// ── wiring ──

async function refresh() {
  try {
    take(await get("/api/live/alarms"));
    isFirst = false;
    if (waiting.length) take(waiting.splice(0));
  } catch { /* the badge says that the station does not respond */ }
}

/** @type {Alarm[]} */
const waiting = []; // events before the list has arrived
subscribe("open", refresh);
subscribe("alarm", (alarm) => (isFirst ? waiting.push(alarm) : take([alarm])));
subscribe("state", (now) => {
  const was = isLive;
  isLive = now.state !== "off" || ["starting", "running"].includes(now.replay?.state);
  if (isLive !== was) draw();
});

setInterval(() => {
  const sounding = pending().find((a) => !a.seen && a.until === null);
  if (!sounding || performance.now() - beeped < REPEAT_MS - 100) return;
  beeped = performance.now();
  beep(sounding.kind === "no_data");
}, 1000);

watchSound(draw);
for (const kind of ["pointerdown", "keydown"]) addEventListener(kind, allowSound, { capture: true });
new MutationObserver(retitle).observe(/** @type {Node} */ (document.querySelector("title")), { childList: true });
new ResizeObserver(() => document.documentElement.style.setProperty("--alarm-strip", `${$("alarm-strip").offsetHeight}px`)).observe($("alarm-strip"));
matchMedia("(max-width: 640px)").addEventListener("change", draw);
$("alarm-button").addEventListener("click", openList);
$("alarm-all").addEventListener("click", () => acknowledge(null));
$("alarm-close").addEventListener("click", () => $("alarm-dialog").close());
$("sound").addEventListener("change", () => setSound({ sound: $("sound").checked }));
$("volume").addEventListener("change", () => { setSound({ volume: Number($("volume").value) }); beep(false); });
$("speech").addEventListener("change", () => { setSound({ speech: $("speech").checked }); speak("Alarms are spoken"); });
