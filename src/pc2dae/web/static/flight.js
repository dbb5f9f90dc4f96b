// One flight: its state, its run and the run it is compared with; the view draws it.

import { follow, get, post, Problem, query, remove } from "./api.js";
import { markShown, noteState } from "./flights.js";
import { intakeTables } from "./intake.js";
import { mappingForm } from "./mapping.js";
import { showScores } from "./scores.js";
import { $, el, fill, option, show, tables } from "./view/dom.js";
import { day } from "./view/format.js";
import { Signals } from "./view/signals.js";

const POINTS = 1500; // of a line over the whole flight: two per pixel of a panel
const FORMATS = {
  nc: ["netCDF", "CF, with raw values, flags and history"],
  csv: ["CSV", "for a spreadsheet"],
  ict: ["ICARTT", "for an archive of airborne data"],
  html: ["Report", "one self-contained HTML page"],
};

let latest = 0; // responses for a flight that is no longer shown are dropped
let state = null; // {detail, run, other, view}
let methods = [];

const signals = new Signals(refineSoon);

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
  $("eyebrow").textContent = detail.gallery ? "simulated example" : detail.suite ? `suite ${detail.suite}` : "flight";
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
  $("work-title").textContent = detail.gallery ? "Simulating an example flight" : `Reading ${detail.name}`;
  $("work-cancel").onclick = () => remove(`/api/jobs/${detail.job}`).catch(() => {});
  let message = "";
  const step = async (job) => {
    if (turn !== latest) return;
    progress($("work-bar"), $("work-words"), job);
    if (job.message === message) return;
    message = job.message;
    const now = await get(`/api/flights/${detail.id}`).catch(() => null); // recognised files are known before the job ends
    if (now && turn === latest && now.state === "working") showIntake(now);
  };
  if (!detail.job) return new Promise((resolve) => setTimeout(resolve, 1000));
  await follow(detail.job, step).catch(() => {});
}

function progress(bar, words, job) {
  if (job.state === "queued") bar.removeAttribute("value");
  else bar.value = job.fraction;
  const waits = job.position ? `waiting for ${job.position} other` : "waiting";
  words.textContent = job.state === "queued" ? waits : `${job.message || "working"}, ${Math.round(100 * job.fraction)} %`;
}

function showFailed(detail) {
  show($("failure"), true);
  $("failure-title").textContent = detail.error || "This flight could not be read";
  const columns = detail.intake?.columns ?? [];
  $("failure-hint").textContent = columns.length ? "Name its columns below." : detail.hint ?? "";
  show($("mapping"), columns.length > 0);
  if (columns.length) mappingForm($("mapping"), detail, () => showFlight(detail.id));
}

async function showReady(detail, turn) {
  for (const id of ["tiles", "panels", "plume-tables", "quality-tables"]) fill($(id), []); // of the flight shown before
  show($("ready"), true);
  const run = detail.runs.find((r) => r.id === detail.default_run) ?? null;
  state = { detail, run, other: null };
  try {
    if (!methods.length) methods = await get("/api/methods").catch(() => []);
    if (turn !== latest) return;
    fillTools();
    await load(turn, true);
  } catch (problem) {
    if (turn === latest) fail("This flight cannot be shown", problem);
  }
}

function fillTools() {
  const { detail, run, other } = state;
  const grouped = (first, chosen) => [first, ...["model", "filter"].map((kind) => el("optgroup", { label: kind === "model" ? "Networks" : "Filters" },
    methods.filter((m) => m.kind === kind).map((m) => option(m.name, m.title, { selected: m.name === chosen, title: m.note }))))].filter(Boolean);
  fill($("method"), grouped(run ? null : option("", "none: as measured", { selected: true }), run?.method));
  fill($("other"), grouped(option("", "none", { selected: !other }), other?.method));
  setStrength(run?.strength ?? 1);
  fill($("download-list"), Object.entries(FORMATS).map(([format, [name, words]]) => {
    const href = query(`/api/flights/${detail.id}/download`, { run: run?.id, format });
    return el("li", {}, el("a", { href, download: true }, el("b", {}, name), el("span", {}, words)));
  }));
}

const titleOf = (run) => methods.find((m) => m.name === run.method)?.title ?? run.method;

const setStrength = (value) => { $("strength").value = value; $("strength-words").textContent = `${Math.round(100 * value)} %`; };

/** View and series of the run and of the one it is compared with; for a new flight its track and cards too. */
async function load(turn, isNew = false) {
  const { detail, run, other } = state, path = `/api/flights/${detail.id}`;
  const [view, track, ...layers] = await Promise.all([
    get(query(`${path}/view`, { run: run?.id })),
    isNew ? get(`${path}/track`).catch(() => null) : undefined,
    get(query(`${path}/series`, { run: run?.id, points: POINTS })),
    other && get(query(`${path}/series`, { run: other.id, points: POINTS })),
  ]);
  if (turn !== latest) return;
  state.view = view;
  say(view.lead);
  fill($("tiles"), view.tiles.map(([value, label]) => el("div", { class: "tile" }, el("b", {}, value), el("span", {}, label))));
  const { plumes, quality } = view.tables;
  fill($("plume-tables"), plumes.length ? tables(plumes, { go: (i) => signals.goToPlume(i), kind: "dense" }) : el("p", { class: "soft" }, "No plume exceeds the background."));
  fill($("quality-tables"), tables(quality));
  if (isNew) signals.build(view);
  signals.set({ view, layers, track, names: [run && titleOf(run), other && titleOf(other)] });
  showScores($("scores"), detail, methods, run, view.metrics, runMethod);
}

let waiting = 0, asked = null;
function refineSoon() {
  clearTimeout(waiting);
  waiting = setTimeout(refine, 160);
}

/** Where the series are thinned, fetch the range shown in full. */
async function refine() {
  const { layers, range, span, panels } = signals;
  if (!layers?.[0].thinned || (range[0] <= span[0] && range[1] >= span[1]) || panels.isFine) return;
  const { detail, run, other } = state;
  asked?.abort();
  asked = new AbortController();
  const margin = (range[1] - range[0]) / 4; // for panning
  const wanted = { channels: [...new Set([...panels.visible, signals.channel.name])].join(","), from: Math.floor(range[0] - margin), to: Math.ceil(range[1] + margin), points: POINTS };
  const finer = (r) => get(query(`/api/flights/${detail.id}/series`, { ...wanted, run: r?.id }), asked.signal);
  try {
    const fine = await Promise.all([finer(run), other && finer(other)]);
    if (signals.range === range && state.run === run) { panels.refine(fine); signals.drawMap(); }
  } catch (problem) {
    if (problem.name !== "AbortError") $("range-words").textContent = problem.line ?? String(problem);
  }
}

// Another method, another strength, another run to compare with.
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
  if (run) await load(latest);
}

async function compareWith(method) {
  const other = method ? await makeRun(method, 1) : null;
  state.other = other;
  fillTools();
  await load(latest);
}

$("method").addEventListener("change", (e) => e.target.value && runMethod(e.target.value, Number($("strength").value)));
$("strength").addEventListener("input", (e) => setStrength(Number(e.target.value)));
$("strength").addEventListener("change", (e) => state.run && runMethod(state.run.method, Number(e.target.value)));
$("other").addEventListener("change", (e) => compareWith(e.target.value));
addEventListener("click", (e) => { if (!$("downloads").contains(e.target) || e.target.closest("a")) $("downloads").open = false; });
addEventListener("keydown", (e) => { if (e.key === "Escape") $("downloads").open = false; });
