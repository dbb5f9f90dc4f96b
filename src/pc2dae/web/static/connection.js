// @ts-check
// The connection of the live view: its form, its state in words, what does not fit, and replays.

import { get, post, remove } from "./api.js";
import { knownFlights } from "./flights.js";
import { linkBadge } from "./link.js";
import { $, el, fill, option, show } from "./view/dom.js";

/** @type {any} */
let live = null;
/** @type {{name: string, channels: {family: string}[]}[]} */
let suites = [];
/** @type {(state: any) => void} */
let onState = () => {};

export const isReplaying = () => ["starting", "running"].includes(live?.replay?.state);
const isOn = () => live !== null && live.state !== "off";
const isLinked = () => ["connected", "lost"].includes(live?.state); // else the form can be corrected
const nameOf = (replay) => knownFlights().find((f) => f.id === replay.flight)?.name ?? replay.name;

/** Offer suites and flights; `callback` is called with the state that a request returns. */
export function startConnection(callback) {
  onState = callback;
  get("/api/suites").then((found) => {
    suites = found;
    const chosen = $("live-suite").value;
    fill($("live-suite"), suites.map((s) => option(s.name, s.name)));
    chooseSuite(chosen || live?.suite || "black-kite");
  }, () => setTimeout(() => startConnection(callback), 2000)); // the server may be busy or away
}

function chooseSuite(name) {
  if (suites.some((s) => s.name === name)) $("live-suite").value = name;
  const families = [...new Set(suites.find((s) => s.name === $("live-suite").value)?.channels.map((c) => c.family))];
  fill($("live-families"), families.map((family) => el("label", { class: "check" }, el("input", { type: "checkbox", value: family }), family)));
}

/** Flights that can be replayed. */
export function offerFlights() {
  const ready = knownFlights().filter((f) => f.state === "ready"), offered = [...$("replay-flight").options].map((o) => o.value);
  if (ready.map((f) => f.id).join() !== offered.join()) fill($("replay-flight"), ready.map((f) => option(f.id, f.name)));
}

export function showConnection(now) {
  live = now;
  const runs = isReplaying();
  drawLead();
  tell(now.replay?.error || now.message || "");
  const values = { broker: now.broker, "topic-in": now.topic_in, "topic-out": now.topic_out, "live-user": now.user ?? "", "live-model": now.model };
  for (const [id, value] of Object.entries(values)) {
    if (document.activeElement !== $(id) && (isLinked() || !$(id).dataset.isSet)) { $(id).value = value; $(id).dataset.isSet = "true"; }
  }
  if (!$("live-tls").dataset.isSet) { $("live-tls").checked = now.tls; $("live-tls").dataset.isSet = "true"; }
  if (isLinked() && !$("connect").classList.contains("is-on")) chooseSuite(now.suite);
  $("connect").classList.toggle("is-on", isLinked());
  $("connect-button").textContent = isLinked() ? "Disconnect" : "Connect";
  show($("connect"), isOn() || !runs);
  show($("connect-stop"), now.state === "connecting");
  $("replay-button").textContent = runs ? `Stop (${Math.round((100 * now.replay.sent) / Math.max(now.replay.of, 1))} %)` : "Replay";
  for (const id of ["replay-flight", "replay-speed", "replay-restamp"]) $(id).disabled = runs;
  show($("mismatch"), Boolean(now.mismatch));
  const words = now.mismatch ? `Wrong suite: ${now.mismatch}.` : "";
  if ($("mismatch-words").textContent !== words) $("mismatch-words").textContent = words;
  show($("mismatch-switch"), Boolean(now.fitting) && isOn() && now.gateway !== "online" && !runs);
  $("mismatch-switch").textContent = `Switch to ${now.fitting}`;
}

/** The state in one sentence, with the badge of the link. */
export function drawLead() {
  const { kind, words } = linkBadge();
  fill($("live-lead"), el("span", { class: `badge ${kind}`, id: "live-badge" }, words), " ",
    live?.is_replay && el("b", { class: "replay-words" }, replayWords()), ` ${sentence()}`);
}

const replayWords = () => (isReplaying() ? `REPLAY of ${nameOf(live.replay)} at ${live.replay.speed} ×.` : `REPLAY of ${live.flight ?? "a flight"}.`);

function sentence() {
  if (!live) return "";
  if (!isOn()) return isReplaying() ? "Without a broker." : "Not connected. Connect to the broker your payload sends to, or replay a flight.";
  if (live.state !== "connected") return live.message ? `${live.broker}: retrying.` : `Connecting to ${live.broker} …`;
  const parts = [`Connected to ${live.broker}, listening to ${live.topic_in}`, `suite ${live.suite}`, live.gateway === "online" ? "gateway elsewhere" : live.model,
    live.calibrated.length ? `calibrated: ${live.calibrated.join(", ")}` : "", live.link.reason];
  return `${parts.filter(Boolean).join("; ")}.`;
}

function tell(line) {
  if ($("live-problem").textContent !== line) $("live-problem").textContent = line;
  show($("live-problem"), Boolean(line));
}

async function act(request) {
  try { const now = await request(); onState(now?.counters ? now : await get("/api/live")); } catch (problem) { tell(problem.line ?? String(problem)); }
}

function wanted() {
  const text = (id) => $(id).value.trim() || null;
  return {
    broker: text("broker"), topic_in: text("topic-in"), topic_out: text("topic-out"), suite: $("live-suite").value || "black-kite", model: $("live-model").value,
    user: text("live-user"), password: $("live-password").value || null, tls: $("live-tls").checked, listen_only: $("listen-only").checked,
    exclude: [...$("live-families").querySelectorAll("input:checked")].map((box) => box.value),
  };
}

$("connect").addEventListener("submit", (event) => {
  event.preventDefault();
  act(() => (isLinked() ? remove("/api/live") : post("/api/live", wanted())));
});
$("connect-stop").addEventListener("click", () => act(() => remove("/api/live")));
$("replay").addEventListener("submit", (event) => {
  event.preventDefault();
  const flight = { flight: $("replay-flight").value, speed: Number($("replay-speed").value), restamp: $("replay-restamp").checked };
  act(() => (isReplaying() ? remove("/api/live/replay") : post("/api/live/replay", flight)));
});
$("mismatch-switch").addEventListener("click", () => act(() => post("/api/live", {
  broker: live.broker, topic_in: live.topic_in, topic_out: live.topic_out, model: live.model, user: live.user, tls: live.tls, listen_only: live.listen_only, suite: live.fitting,
})));
$("live-suite").addEventListener("change", () => chooseSuite($("live-suite").value));
$("connect").addEventListener("input", () => show($("live-plain"), $("live-user").value !== "" && !$("live-tls").checked && !/^(localhost|127\.|\[::1\])/.test($("broker").value)));
