// One flight: its state, its run, the stretch of time shown; everything else draws what this hands over.

import { follow, get, post, Problem, query, remove } from "./api.js";
import { $, el, fill, option, show } from "./dom.js";
import { markShown, noteState } from "./flights.js";
import { mappingForm } from "./mapping.js";
import { Panels } from "./panels.js";
import { showScores } from "./scores.js";
import { intakeTables, keyOf, plumeTables, qualityTables, tiles } from "./tables.js";
import { Timeline } from "./timeline.js";
import { Track } from "./track.js";
import { day } from "./words.js";

const POINTS = 1500; // of a line over the whole flight: two for each pixel of a panel
const FORMATS = {
  nc: ["netCDF", "CF, with what was logged, flags and history"],
  csv: ["CSV", "for a spreadsheet"],
  ict: ["ICARTT", "for an archive of airborne data"],
  html: ["Report", "one HTML page that needs nothing else"],
};

let latest = 0; // an answer that comes after another flight was asked for is dropped
let state = null; // {detail, run, other, layers, plumes, span, range, channel}
let methods = [];

const panels = new Panels({ onRange: setRange, onHover: (ms) => track.point(ms), onMap: chooseChannel, onSeen: refineSoon });
const track = new Track();
const timeline = new Timeline($("timeline"), $("range-words"), setRange);

export async function showFlight(id) {
  const turn = ++latest;
  markShown(id);
  let detail;
  try {
    detail = await get(`/api/flights/${id}`);
  } catch (problem) {
    if (turn === latest) fail("Flight not found", problem.status === 404 ? new Problem("It may have been deleted.") : problem);
    return;
  }
  if (turn !== latest) return;
  noteState(detail);
  head(detail);
  for (const part of ["work", "failure", "mapping", "ready"]) show($(part), false);
  showIntake(detail);
  if (detail.state === "ready") return showReady(detail, turn);
  if (detail.state === "failed") return showFailed(detail);
  await showWork(detail, turn);
  if (turn === latest) showFlight(id);
}

function head(detail) {
  $("eyebrow").textContent = detail.gallery ? "simulated, to look around" : detail.suite ? `suite ${detail.suite}` : "flight";
  $("title").textContent = detail.start ? `${detail.name}, ${day(detail.start)}` : detail.name;
  say(detail.lead);
  document.title = `${detail.name} · pc2dae`;
}

const say = (lead) => { $("lead").textContent = (lead ?? "").replaceAll(" %", "\u00a0%"); };

function fail(title, problem) {
  for (const part of ["work", "mapping", "ready", "intake"]) show($(part), false);
  show($("failure"), true);
  $("failure-title").textContent = title;
  $("failure-hint").textContent = problem.line ?? String(problem);
}

function showIntake(detail) {
  const tables = detail.intake ? intakeTables(detail.intake).filter(Boolean) : [];
  show($("intake"), tables.length > 0);
  fill($("intake-tables"), tables);
}

async function showWork(detail, turn) {
  show($("work"), true);
  $("work-title").textContent = detail.gallery ? "Flying a simulated flight to look around" : `Reading ${detail.name}`;
  $("work-cancel").onclick = () => remove(`/api/jobs/${detail.job}`).catch(() => {});
  let message = "";
  const step = async (job) => {
    if (turn !== latest) return;
    progress($("work-bar"), $("work-words"), job);
    if (job.message === message) return;
    message = job.message;
    const now = await get(`/api/flights/${detail.id}`).catch(() => null); // what was recognised is known before the end
    if (now && turn === latest && now.state === "working") showIntake(now);
  };
  if (!detail.job) return new Promise((resolve) => setTimeout(resolve, 1000));
  await follow(detail.job, step).catch(() => {});
}

function progress(bar, words, job) {
  if (job.state === "queued") bar.removeAttribute("value");
  else bar.value = job.fraction;
  const waits = job.position ? `waits for ${job.position} other` : "waits for its turn";
  words.textContent = job.state === "queued" ? waits : `${job.message || "working"}, ${Math.round(100 * job.fraction)} %`;
}

function showFailed(detail) {
  show($("failure"), true);
  $("failure-title").textContent = detail.error || "This flight could not be read";
  const columns = detail.intake?.columns ?? [];
  $("failure-hint").textContent = columns.length ? "Say below what its columns are." : detail.hint ?? "";
  show($("mapping"), columns.length > 0);
  if (columns.length) mappingForm($("mapping"), detail, () => showFlight(detail.id));
}

async function showReady(detail, turn) {
  show($("ready"), true);
  const run = detail.runs.find((r) => r.id === detail.default_run) ?? null;
  const span = [detail.start, detail.end];
  state = { detail, run, other: null, layers: null, plumes: null, span, range: span.slice(), channel: null };
  fill($("tiles"), tiles(detail, run, null));
  panels.build(detail, run);
  if (!methods.length) methods = await get("/api/methods").catch(() => []);
  if (turn !== latest) return;
  fillTools();
  const place = get(`/api/flights/${detail.id}/track`).catch(() => null);
  await load(turn);
  track.set(await place);
  if (turn !== latest) return;
  chooseChannel(state.channel?.name);
}

function fillTools() {
  const { detail, run, other } = state;
  const grouped = (first, chosen) => [first, ...["model", "filter"].map((kind) => el("optgroup", { label: kind === "model" ? "Networks" : "Filters" },
    methods.filter((m) => m.kind === kind).map((m) => option(m.name, m.title, { selected: m.name === chosen, title: m.note }))))].filter(Boolean);
  fill($("method"), grouped(run ? null : option("", "as measured", { selected: true }), run?.method));
  fill($("other"), grouped(option("", "nothing", { selected: !other }), other?.method));
  setStrength(run?.strength ?? 1);
  fill($("track-channel"), detail.channels.map((c) => option(c.name, c.name)));
  fill($("download-list"), Object.entries(FORMATS).map(([format, [name, words]]) => {
    const href = query(`/api/flights/${detail.id}/download`, { run: run?.id, format });
    return el("li", {}, el("a", { href, download: true }, el("b", {}, name), el("span", {}, words)));
  }));
}

const titleOf = (run) => methods.find((m) => m.name === run.method)?.title ?? run.method;

const setStrength = (value) => { $("strength").value = value; $("strength-words").textContent = `${Math.round(100 * value)} %`; };

/** Series and plumes of the run, and of the one beside it, for the whole flight. */
async function load(turn) {
  const { detail, run, other } = state;
  const path = `/api/flights/${detail.id}`;
  const [mine, beside, plumes] = await Promise.all([
    get(query(`${path}/series`, { run: run?.id, points: POINTS })),
    other && get(query(`${path}/series`, { run: other.id, points: POINTS })),
    get(query(`${path}/plumes`, { run: run?.id })).catch(() => ({ intervals: [], encounters: [], table: [], ratios: [] })),
  ]);
  if (turn !== latest) return;
  Object.assign(state, { layers: [mine, beside], plumes });
  fill($("tiles"), tiles(detail, run, plumes));
  say(run?.lead ?? detail.lead);
  fill($("key"), keyOf(mine, run && titleOf(run), other && titleOf(other)));
  const encounters = new Map();
  for (const e of plumes.encounters) encounters.set(e.channel, [...(encounters.get(e.channel) ?? []), e]);
  state.channel ??= clearest(plumes) ?? detail.channels[0];
  fill($("plume-tables"), plumeTables(plumes, goToPlume));
  fill($("quality-tables"), qualityTables(detail, run));
  nameStep(-1);
  panels.set({ layers: state.layers, encounters, range: state.range, run });
  refineSoon();
  drawTrackAndStrip();
  showScores($("scores"), detail, methods, run, runMethod);
}

/** Of the channels that are believed the one whose plumes stand highest above its noise. */
function clearest(plumes) {
  const { channels } = state.layers[0], candidates = plumes.encounters.filter((e) => channels[e.channel]?.estimate || !state.run);
  const best = candidates.reduce((a, b) => (b.snr > (a?.snr ?? 0) ? b : a), null);
  return best && state.detail.channels.find((c) => c.name === best.channel);
}

function chooseChannel(name) {
  state.channel = state.detail.channels.find((c) => c.name === name) ?? state.channel;
  if (!state.channel) return;
  $("track-channel").value = state.channel.name;
  panels.mark(state.channel.name);
  drawTrackAndStrip();
}

function drawTrackAndStrip() {
  const { layers, channel, span, range, plumes } = state;
  const mine = layers?.[0].channels[channel?.name];
  if (!mine) return;
  timeline.set({ span, range, time: layers[0].time, values: mine.estimate ?? mine.raw, plumes: plumes.intervals });
  track.draw(channel, layers[0], range);
}

/** Show a stretch of time everywhere; null is the whole flight. */
function setRange(range) {
  if (!state) return;
  state.range = range ? timeline.within(range) : state.span.slice();
  if (!range) nameStep(-1);
  timeline.setRange(state.range);
  panels.setRange(state.range);
  refineSoon();
}

let waiting = 0, asked = null;
function refineSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(refine, 160);
}

/** Where points were left out, ask for the stretch shown in full. */
async function refine() {
  if (!state?.layers) return;
  const { detail, run, other, layers, range, span, channel } = state;
  track.draw(channel, layers[0], range);
  const isWhole = range[0] <= span[0] && range[1] >= span[1];
  if (isWhole || !layers[0].thinned || panels.isFine) return;
  asked?.abort();
  asked = new AbortController();
  const margin = (range[1] - range[0]) / 4; // for panning
  const wanted = { channels: panels.visible.join(","), from: Math.floor(range[0] - margin), to: Math.ceil(range[1] + margin), points: POINTS };
  const finer = (r) => get(query(`/api/flights/${detail.id}/series`, { ...wanted, run: r?.id }), asked.signal);
  try {
    const fine = await Promise.all([finer(run), other && finer(other)]);
    if (state.range === range && state.run === run) panels.refine(fine);
  } catch (problem) {
    if (problem.name !== "AbortError") $("range-words").textContent = problem.line ?? String(problem);
  }
}

// From plume to plume.
let step = -1;
function goToPlume(index) {
  const { intervals } = state.plumes;
  if (!intervals.length) return;
  step = ((index % intervals.length) + intervals.length) % intervals.length;
  setRange(timeline.within([intervals[step][0] - 30_000, intervals[step][1] + 30_000]));
  nameStep(step);
  if ($("signals").getBoundingClientRect().bottom < 200) $("signals").scrollIntoView();
}

function nameStep(index) {
  step = index;
  const count = state.plumes?.intervals.length ?? 0;
  show($("plume-steps"), count > 0);
  $("plume-name").textContent = index < 0 ? `${count} plume${count === 1 ? "" : "s"}` : `Plume ${index + 1} of ${count}`;
}

// Another method, another strength, another one beside it.
async function makeRun(method, strength) {
  const { detail } = state, turn = latest;
  show($("run-work"), true);
  $("run-bar").removeAttribute("value");
  $("run-words").textContent = `${method} …`;
  try {
    const answer = await post(`/api/flights/${detail.id}/runs`, { method, strength });
    const run = answer.run.id ?? answer.run, job = answer.job?.id ?? answer.job;
    $("run-cancel").onclick = () => job && remove(`/api/jobs/${job}`).catch(() => {});
    const end = job ? await follow(job, (now) => turn === latest && progress($("run-bar"), $("run-words"), now)) : null;
    if (end && end.state !== "done") throw new Problem(end.error || `${method} was ${end.state}`, end.hint ?? "");
    if (turn !== latest) return null;
    state.detail = await get(`/api/flights/${detail.id}`);
    show($("run-work"), false);
    return state.detail.runs.find((r) => r.id === run) ?? null;
  } catch (problem) {
    if (turn === latest) { $("run-words").textContent = problem.line ?? String(problem); $("run-bar").value = 0; }
    return null;
  }
}

async function runMethod(method, strength = 1) {
  const run = await makeRun(method, strength);
  if (run) state.run = run;
  fillTools();
  chooseChannel();
  if (run) await load(latest);
}

async function runBeside(method) {
  const other = method ? await makeRun(method, 1) : null;
  state.other = other;
  fillTools();
  chooseChannel();
  await load(latest);
}

$("method").addEventListener("change", (e) => e.target.value && runMethod(e.target.value, Number($("strength").value)));
$("strength").addEventListener("input", (e) => setStrength(Number(e.target.value)));
$("strength").addEventListener("change", (e) => state.run && runMethod(state.run.method, Number(e.target.value)));
$("other").addEventListener("change", (e) => runBeside(e.target.value));
$("plume-next").addEventListener("click", () => goToPlume(step + 1));
$("plume-previous").addEventListener("click", () => goToPlume(step < 0 ? -1 : step - 1));
$("plume-all").addEventListener("click", () => setRange(null));
$("track-channel").addEventListener("change", (e) => chooseChannel(e.target.value));
addEventListener("click", (e) => { if (!$("downloads").contains(e.target) || e.target.closest("a")) $("downloads").open = false; });
addEventListener("keydown", (e) => { if (e.key === "Escape") $("downloads").open = false; });
addEventListener("theme", () => { if (state?.layers) { panels.setRange(state.range); refineSoon(); drawTrackAndStrip(); } });
