// The live view: estimates as they arrive, through restarts of the server and of the broker.

import { get, post, remove } from "./api.js";
import { Alarms } from "./alarms.js";
import { $, el, fill, option, show } from "./view/dom.js";
import { knownFlights, listFlights } from "./flights.js";
import { Strip } from "./strip.js";
import { count, duration, number } from "./view/format.js";

const KEPT_S = 900;
const SILENT_MS = 10_000; // without a message for this long the values are marked stale
const COVERAGE_90 = 1.645;

let source = null, live = null, flight = null, received = new Set(), receivedAt = 0, strips = new Map(), isDue = false, ticking = 0;
const alarms = new Alarms((name) => strips.get(name)?.mark(alarms));

export function startLive() {
  if (source) return;
  document.title = "Live · pc2dae";
  open();
  ticking = setInterval(tick, 1000);
  listFlights().then(offerFlights);
}

/** Flights that can be replayed. */
function offerFlights() {
  const ready = knownFlights().filter((f) => f.state === "ready"), offered = [...$("replay-flight").options].map((o) => o.value);
  if (ready.map((f) => f.id).join() !== offered.join()) fill($("replay-flight"), ready.map((f) => option(f.id, f.name)));
}

export function stopLive() {
  source?.close();
  source = null;
  clearInterval(ticking);
}

/** EventSource reconnects by itself after a broken connection; after a refusal it must be reopened. */
function open() {
  source = new EventSource("/api/live/events");
  source.addEventListener("state", (event) => takeState(JSON.parse(event.data)));
  source.addEventListener("estimate", (event) => takeEstimate(JSON.parse(event.data)));
  source.onerror = () => {
    lead("wait", "The station does not respond. Reconnecting.");
    if (source?.readyState === EventSource.CLOSED) setTimeout(() => source && open(), 1500);
  };
}

const STATES = {
  direct: ["good", (l) => `Replaying ${nameOf(l.replay)} at ${l.replay.speed} × flight speed, without a broker.`],
  off: ["", () => "Not connected. Connect to the broker your payload sends to, or replay a flight."],
  connecting: ["wait", (l) => `Connecting to ${l.broker} …`],
  replayed: ["good", (l) => `Replaying ${nameOf(l.replay)} at ${l.replay.speed} × flight speed.`],
  connected: ["good", (l) => `Connected to ${l.broker}, listening to ${l.topic_in}.`],
  lost: ["bad", (l) => `The broker ${l.broker} is not reachable. Reconnecting.`],
};

const nameOf = (replay) => knownFlights().find((f) => f.id === replay.flight)?.name ?? replay.name;

function lead(kind, words) {
  const badge = { good: "live", bad: "broker lost", wait: live?.state === "connecting" ? "connecting" : "reconnecting" }[kind] ?? "off";
  fill($("live-lead"), el("span", { class: `badge ${kind}`, id: "live-badge" }, badge), ` ${words}`);
}

function takeState(now) {
  live = now;
  const isOn = now.state !== "off", runs = isReplaying();
  const state = runs && now.state === "connected" ? "replayed" : runs && !isOn ? "direct" : now.state;
  const [kind, words] = STATES[state] ?? STATES.off;
  lead(kind, words(now) + (now.calibrated?.length ? ` Calibrated: ${now.calibrated.join(", ")}.` : ""));
  const problem = now.replay?.error || (now.state === "lost" ? "" : now.error || now.message) || "";
  $("live-problem").textContent = problem;
  show($("live-problem"), Boolean(problem));
  for (const [id, value] of [["broker", now.broker], ["topic-in", now.topic_in], ["topic-out", now.topic_out]]) {
    if (document.activeElement !== $(id) && (isOn || !$(id).value)) $(id).value = value ?? "";
    $(id).disabled = isOn;
  }
  $("connect-button").textContent = isOn ? "Disconnect" : "Connect";
  $("replay-button").textContent = runs ? `Stop (${Math.round((100 * now.replay.sent) / Math.max(now.replay.of, 1))} %)` : "Replay";
  for (const id of ["replay-flight", "replay-speed"]) $(id).disabled = runs;
  tick();
  const isEmpty = !isOn && !runs && !receivedAt;
  if (!isEmpty && now.channels?.length && namesOf(now.channels) !== namesOf([...strips.values()].map((s) => s.channel))) build(now.channels);
  show($("live-window").closest(".row"), strips.size > 0);
  show($("counters"), !isEmpty);
  if (!strips.size) fill($("live-panels"), el("p", { class: "empty" }, "Nothing to show yet. Replay a flight to see an example."));
}

const namesOf = (channels) => channels.map((c) => c.name).join();
const isReplaying = () => Boolean(live?.replay) && !["done", "failed", "stopped"].includes(live.replay.state);

/** Panels of the channels; existing ones are kept, so that a threshold being typed is not lost. */
function build(channels) {
  const same = (strip, channel) => strip && JSON.stringify(strip.channel) === JSON.stringify(channel);
  const next = new Map(channels.map((c) => [c.name, same(strips.get(c.name), c) ? strips.get(c.name) : new Strip(c, alarms)]));
  for (const [name, strip] of strips) if (next.get(name) !== strip) { strip.forget(); strip.card.remove(); }
  strips = next;
  const parent = $("live-panels"), cards = [...strips.values()].map((strip) => strip.card);
  if (parent.children.length !== cards.length || cards.some((card, i) => card !== parent.children[i])) fill(parent, cards);
  show($("live-window").closest(".row"), true);
  show($("counters"), true);
}

function takeEstimate(message) {
  if (message.flight !== flight) {
    flight = message.flight;
    received = new Set();
    for (const strip of strips.values()) strip.clear();
    alarms.clear();
  }
  if (received.has(message.seq)) return; // a restarted server resends its buffer
  received.add(message.seq);
  receivedAt = performance.now();
  if (!strips.size) build(live?.channels ?? []);
  for (const [name, strip] of strips) {
    const value = message.estimate[name] ?? null, sigma = message.uncertainty?.[name] ?? null;
    const half = value === null || sigma === null ? NaN : COVERAGE_90 * sigma;
    const low = Math.max(value - half, strip.channel.lower_bound ?? 0);
    const [raw, reading] = [message.raw, message.response].map((values) => values?.[name] ?? null);
    strip.add({ time: message.time, value, sigma, low, high: value + half, raw, reading }, KEPT_S);
    strip.name(message.target?.[name]);
    if (value !== null) alarms.judge(strip.channel, value, message.time);
  }
  drawSoon();
}

function drawSoon() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => requestAnimationFrame(() => {
    isDue = false;
    const window_s = Number($("live-window").value);
    for (const strip of strips.values()) strip.draw(window_s, alarms);
    alarms.draw($("alarms"));
  }), 120);
}

function tick() {
  offerFlights();
  if (!live) return;
  const c = live.counters ?? {}, age = receivedAt ? (performance.now() - receivedAt) / 1000 : null;
  const isIdle = live.state === "off" && !isReplaying(), isSilent = !isIdle && age !== null && age * 1000 > SILENT_MS;
  const tile = (value, label, isBad, id) => el("div", { class: `tile${isBad ? " bad" : ""}`, id }, el("b", {}, value), el("span", {}, label));
  fill($("counters"), [
    tile(age === null ? "–" : age < 2 ? "now" : `${duration(age)} ago`, "last estimate", isSilent),
    tile(live.latency_s === null || live.latency_s === undefined ? "–" : `${number(live.latency_s, 2)} s`, "latency"),
    tile(count(c.estimates ?? 0), "estimates", false, "count-estimates"),
    tile(count(c.lost ?? 0), "lost", c.lost > 0, "count-lost"),
    tile(count(c.duplicates ?? 0), "duplicated", false, "count-duplicates"),
    tile(count(c.late ?? 0), "late"),
    tile(count(c.refused ?? 0), "refused", c.refused > 0),
  ]);
  for (const strip of strips.values()) strip.card.classList.toggle("is-stale", isSilent || isIdle);
}

async function act(promise) {
  show($("live-problem"), false);
  try { const now = await promise(); if (now?.state && now.counters) takeState(now); else takeState(await get("/api/live")); } catch (problem) {
    $("live-problem").textContent = problem.line ?? String(problem);
    show($("live-problem"), true);
  }
}

$("connect").addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = { broker: $("broker").value.trim(), topic_in: $("topic-in").value.trim(), topic_out: $("topic-out").value.trim() };
  act(() => (live && live.state !== "off" ? remove("/api/live") : post("/api/live", wanted)));
});
$("replay").addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = { flight: $("replay-flight").value, speed: Number($("replay-speed").value) };
  act(() => (isReplaying() ? remove("/api/live/replay") : post("/api/live/replay", wanted)));
});
$("live-window").addEventListener("change", drawSoon);
addEventListener("theme", drawSoon);
