// @ts-check
// One flight: its state, its run and the run it is compared with; the view draws it.

import { read, write } from "./address.js";
import { follow, get, post, Problem, put, query, remove } from "./api.js";
import { Compare } from "./compare.js";
import { markShown, noteState } from "./flights.js";
import { intakeTables } from "./intake.js";
import { aboutFlight } from "./about.js";
import { repairForm } from "./repair.js";
import { liveRun, showRecorded } from "./recorded.js";
import { linkButton, parametersOf, stateOf } from "./share.js";
import { showScores } from "./scores.js";
import { budgetBars } from "./view/budget.js";
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
let shown = null; // id of the flight
/** @type {{detail: Schemas["FlightDetail"], run?: Schemas["RunDetail"] | null, other?: Schemas["RunDetail"] | null, view?: Schemas["FlightShown"]} | null} */
let state = null;
/** @type {Schemas["Method"][]} */
let methods = [];

const signals = new Signals(() => { refineSoon(); compare.changed(); }, (seen, isStep) => { if (read().id === state.detail.id) write(parametersOf(seen), { isStep }); });
const compare = new Compare(signals);

const findRun = (id) => state.detail.runs.find((r) => r.id === id && r.state === "ready") ?? null;
/** @param {Record<string, string>} parameters of the address */
const wantedRuns = ({ run, other }) => [findRun(run) ?? findRun(state.detail.default_run), findRun(other)];

/** Show what the address says of a flight; one that is shown already is not loaded again. */
export async function followAddress(id) {
  if (id !== shown || state?.detail.id !== id || !state.view) return showFlight(id);
  const wanted = read(), [run, other] = wantedRuns(wanted);
  if (run?.id !== state.run?.id || other?.id !== state.other?.id) {
    Object.assign(state, { run, other });
    fillTools();
    await load(latest);
  }
  signals.restore(stateOf(wanted));
  compare.restore();
}

export async function showFlight(id) {
  const turn = ++latest;
  if (id !== shown) scrollTo(0, 0);
  shown = id;
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
  aboutFlight($("about"), detail, () => showFlight(id));
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
  for (const part of ["work", "mapping", "ready", "intake", "about"]) show($(part), false);
  show($("failure"), true);
  $("failure").classList.remove("asks");
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
  $("failure-hint").textContent = detail.hint ? `${detail.hint[0].toUpperCase()}${detail.hint.slice(1)}.` : "";
  $("failure").classList.toggle("asks", detail.questions.length > 0);
  fill($("mapping"), []);
  show($("mapping"), detail.files.length > 0);
  repairForm($("mapping"), detail, () => showFlight(detail.id));
}

async function showReady(detail, turn) {
  show($("recorded"), false);
  for (const id of ["tiles", "panels", "plume-tables", "quality-tables"]) fill($(id), []); // of the flight shown before
  show($("ready"), true);
  state = { detail };
  write({ view: "flight", id: detail.id });
  const wanted = read();
  [state.run, state.other] = wantedRuns(wanted);
  try {
    if (!methods.length) methods = await get("/api/methods").catch(() => []);
    if (turn !== latest) return;
    fillTools();
    await load(turn, true);
    if (turn !== latest) return;
    signals.restore(stateOf(wanted));
    if (wanted.run && wanted.run !== state.run?.id) sayRun("The run of this link is not on this station; the default is shown.");
  } catch (problem) {
    if (turn === latest) fail("This flight cannot be shown", problem);
  }
}

function fillTools() {
  const { detail, run, other } = state;
  const kinds = { ...(liveRun(detail) && { live: "Recorded" }), model: "Networks", filter: "Filters" };
  const grouped = (first, chosen) => [first, ...Object.entries(kinds).map(([kind, label]) => el("optgroup", { label },
    methods.filter((m) => m.kind === kind).map((m) => option(m.name, m.title, { selected: m.name === chosen, title: m.note }))))].filter(Boolean);
  fill($("method"), grouped(run ? null : option("", "none: as measured", { selected: true }), run?.method));
  fill($("other"), grouped(option("", "none", { selected: !other }), other?.method));
  setStrength(run?.strength ?? 1);
  fill($("download-list"), Object.entries(FORMATS).map(([format, [name, words]]) => {
    const href = query(`/api/flights/${detail.id}/download`, { run: run?.id, format });
    return el("li", {}, el("a", { href, download: true }, el("b", {}, name), el("span", {}, words)));
  }));
}

const sayRun = (text) => { show($("run-work"), true); $("run-bar").value = 0; $("run-words").textContent = text; };

const titleOf = (run) => methods.find((m) => m.name === run.method)?.title ?? run.method;

const setStrength = (value) => { $("strength").value = value; $("strength-words").textContent = `${Math.round(100 * value)} %`; };

/** View and series of the run and of the one it is compared with; for a new flight its track and cards too. */
async function load(turn, isNew = false) {
  const { detail, run, other } = state, path = /** @type {const} */ (`/api/flights/${detail.id}`);
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
  const { plumes, quality, uncertainty } = view.tables;
  fill($("plume-tables"), plumes.length ? tables(plumes, { go: (i) => signals.goToPlume(i, true), kind: "dense" }) : el("p", { class: "soft" }, "No plume exceeds the background."));
  fill($("quality-tables"), tables(quality));
  fill($("budget-bars"), budgetBars(view.budget ?? []));
  fill($("uncertainty-tables"), tables(uncertainty ?? []));
  if (isNew) signals.build(view);
  const names = [run && titleOf(run), other && titleOf(other)];
  signals.set({ view, layers, track, names, marks: detail.marks ?? [], title: detail.name });
  compare.set({ detail, run, other, names });
  showRecorded(detail, () => showRuns({ run: detail.runs.find((r) => r.id === detail.default_run) ?? null, other: liveRun(detail) }));
  offerClean();
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

// Clean air: a drag over a panel states a period; the plumes of the run are measured above all of them.
const marker = el("button", { type: "button", id: "mark-clean", "aria-pressed": "false", title: "Drag over clean air in a panel; repeat for several periods", onclick: () => markClean(!signals.marking) }, "Mark clean air");
const cleaner = el("button", { type: "button", id: "forget-clean", title: "Let clean air be found again", onclick: () => stateClean([]) }, "Forget clean air");

function markClean(is) {
  signals.marking = is ? (range) => stateClean([...(state.view.clean_air ?? []), range]) : null;
  marker.setAttribute("aria-pressed", String(is));
  offerClean();
}

function offerClean() {
  show(marker, Boolean(state?.run));
  show(cleaner, Boolean(state?.run && state.view?.clean_air?.length));
}

/** @param {[number, number][]} periods */
async function stateClean(periods) {
  const { detail, run } = state, turn = latest;
  show($("run-work"), true);
  $("run-bar").removeAttribute("value");
  $("run-words").textContent = "looking for plumes above the clean air …";
  try {
    const { job } = await put(`/api/flights/${detail.id}/runs/${run.id}/clean-air`, { periods });
    $("run-cancel").onclick = () => remove(`/api/jobs/${job.id}`).catch(() => {});
    const end = await follow(job.id, (now) => turn === latest && progress($("run-bar"), $("run-words"), now));
    if (end.state !== "done") throw new Problem(end.error || `clean air was ${end.state}`, end.hint ?? "");
    if (turn !== latest) return;
    await load(turn);
    show($("run-work"), false);
  } catch (problem) {
    if (turn === latest) { $("run-words").textContent = problem.line ?? String(problem); $("run-bar").value = 0; }
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
    const run = answer.run.id, job = answer.job?.id;
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
  if (run) await showRuns({ run });
  else fillTools();
}

const compareWith = async (method) => showRuns({ other: method ? await makeRun(method, 1) : null });

async function showRuns(changes) {
  Object.assign(state, changes);
  const { run, other, detail } = state;
  write({ run: run?.id === detail.default_run ? null : run?.id, other: other?.id }, { isStep: true });
  fillTools();
  await load(latest);
}

$("view-tools").append(...linkButton(), marker, cleaner);
$("method").addEventListener("change", (e) => e.target.value && runMethod(e.target.value, Number($("strength").value)));
$("strength").addEventListener("input", (e) => setStrength(Number(e.target.value)));
$("strength").addEventListener("change", (e) => state.run && runMethod(state.run.method, Number(e.target.value)));
$("other").addEventListener("change", (e) => compareWith(e.target.value));
addEventListener("click", (e) => { if (!$("downloads").contains(e.target) || /** @type {Element} */ (e.target).closest("a")) $("downloads").open = false; });
addEventListener("keydown", (e) => { if (e.key === "Escape") $("downloads").open = false; });
