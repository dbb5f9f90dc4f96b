// @ts-check
// The live view: estimates as they arrive, through restarts of the server and of the broker.

import { watchAlarms } from "./alarms.js";
import { Cards } from "./cards.js";
import { drawLead, isReplaying, offerFlights, showConnection, startConnection } from "./connection.js";
import { drawCounters } from "./counters.js";
import { $, el, fill, show } from "./view/dom.js";
import { listFlights } from "./flights.js";
import { watchLimits } from "./limits.js";
import { isStale } from "./link.js";
import { subscribe } from "./live_events.js";
import { LiveMap } from "./live_map.js";
import { watchMarks } from "./marks.js";
import { Strip } from "./strip.js";

const KEPT_S = 900;
const COVERAGE_90 = 1.645;
const SMALL = "(max-width: 1180px)"; // screens on which the connection is folded once there is one

let live = null, flight = null, received = new Set(), known = "", withData = new Set(), strips = new Map(), isDue = false, wasOn = false, ticking = 0;
const map = new LiveMap(), cards = new Cards({ grid: $("live-panels"), values: $("live-values"), hidden: $("live-hidden"), onChange: drawSoon });

export function startLive() {
  document.title = "Live · pc2dae";
  clearInterval(ticking);
  ticking = setInterval(tick, 1000);
  startConnection(takeState);
  listFlights().then(offerFlights);
}

export function stopLive() {
  clearInterval(ticking);
}

subscribe("state", (now) => takeState(now));
subscribe("estimate", (message) => takeEstimate(message));
subscribe("lost", drawLead);

function takeState(now) {
  live = now;
  showConnection(now);
  drawCounters(now);
  const names = now.channels.map((c) => c.name).join();
  if (names !== known) {
    known = names;
    withData = new Set();
    for (const strip of strips.values()) strip.forget();
    strips = new Map();
  }
  for (const c of now.channels) if (c.has_data) withData.add(c.name);
  build();
  const isOn = now.state !== "off" || isReplaying(), isEmpty = !isOn && !strips.size;
  if (isOn !== wasOn && matchMedia(SMALL).matches) $("live-connection").open = !isOn;
  wasOn = isOn;
  $("live-view").classList.toggle("has-data", strips.size > 0);
  show($("live-window").closest(".row"), strips.size > 0);
  show($("counters"), now.counters.samples + now.counters.estimates > 0);
  const without = strips.size ? now.channels.filter((c) => !withData.has(c.name)).map((c) => c.name) : [];
  const notes = [without.length && `No data of ${without.join(", ")}.`, now.ignored.length && `Not in suite ${now.suite}: ${now.ignored.join(", ")}.`];
  $("live-without").textContent = notes.filter(Boolean).join(" ");
  show($("live-without"), notes.some(Boolean));
  if (!strips.size) fill($("live-values"), []);
  if (!strips.size) fill($("live-panels"), el("p", { class: "empty" }, isEmpty ? "Nothing to show yet. Replay a flight to see an example." : "No estimate yet."));
  tick();
}

/** Panels of the channels that have had a value; existing ones are kept, so that a threshold being typed is not lost. */
function build() {
  const channels = live.channels.filter((c) => withData.has(c.name));
  if (!channels.length) return;
  const same = (strip, channel) => strip && ["name", "units", "lower_bound"].every((key) => strip.channel[key] === channel[key]);
  const next = new Map(channels.map((c) => [c.name, same(strips.get(c.name), c) ? strips.get(c.name) : new Strip(c)]));
  for (const [name, strip] of strips) if (next.get(name) !== strip) { strip.forget(); strip.card.remove(); }
  strips = next;
  cards.arrange(live.suite, strips);
  map.setChannels(channels);
}

function takeEstimate(message) {
  if (message.flight !== flight) {
    flight = message.flight;
    received = new Set();
    for (const strip of strips.values()) strip.clear();
  }
  if (received.has(message.seq)) return; // a restarted server resends its buffer
  received.add(message.seq);
  if (!live) return;
  const fresh = live.channels.filter((c) => !withData.has(c.name) && (message.estimate[c.name] ?? null) !== null);
  if (fresh.length) { fresh.forEach((c) => withData.add(c.name)); build(); }
  for (const [name, strip] of strips) {
    const value = message.estimate[name] ?? null, sigma = message.uncertainty?.[name] ?? null;
    const half = value === null || sigma === null ? NaN : COVERAGE_90 * sigma;
    const low = Math.max(value - half, strip.channel.lower_bound ?? 0);
    const [raw, reading] = [message.raw, message.response].map((values) => values?.[name] ?? null);
    strip.add({ time: message.time, value, sigma, low, high: value + half, raw, reading }, KEPT_S);
    strip.name(message.target?.[name]);
  }
  drawSoon();
}

function drawSoon() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => requestAnimationFrame(() => {
    isDue = false;
    const window_s = Number($("live-window").value);
    for (const strip of strips.values()) strip.draw(window_s);
  }), 120);
}

function tick() {
  offerFlights();
  if (live) drawLead();
  for (const strip of strips.values()) strip.setStale(isStale());
}

$("live-window").addEventListener("change", drawSoon);
watchAlarms(drawSoon);
watchLimits(drawSoon);
watchMarks(drawSoon);
addEventListener("theme", drawSoon);
