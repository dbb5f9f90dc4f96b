// @ts-check
// Scores of all methods run on a flight, beside trivial references.

import { get } from "./api.js";
import { el, fill, option, table } from "./view/dom.js";
import { decimal, isNumber } from "./view/format.js";

const SHOWN = ["mae_improvement", "snr_improvement", "peak_bias", "edge_error", "excess_error", "ratio_error", "background_bias", "coverage_90", "negatives",
  "smoothness", "hf_reduction", "mean_10s_change", "pair_agreement", "leakage"];
const REFERENCES = ["raw", "clip", "constant", "truth"];
const NOTE = "One row per method run on this flight; trivial references in italics. A constant line is perfectly smooth "
  + "and never negative, so more smoothness than the truth is over-smoothing.";
let family = "all";

export async function showScores(parent, detail, methods, run, metrics, onRun) {
  const rows = await get(`/api/flights/${detail.id}/scores`).catch(() => []);
  const made = new Set(detail.runs.map((r) => r.method));
  const chip = (m) => el("button", { type: "button", title: m.note, onclick: (e) => { e.target.disabled = true; onRun(m.name, 1); } }, `+ ${m.title}`);
  const chips = methods.filter((m) => m.kind !== "live" && !made.has(m.name) && !REFERENCES.includes(m.name)).map(chip);
  const families = ["all", ...new Set(rows.map((r) => r.family).filter((f) => f !== "all"))];
  const place = el("div"), draw = () => fill(place, scoreTable(rows.filter((r) => r.family === family), run, metrics));
  const chosen = el("select", { onchange: (e) => { family = e.target.value; draw(); } },
    families.map((f) => option(f, f === "all" ? "mean over families" : f, { selected: f === family })));
  fill(parent, el("p", { class: "soft" }, NOTE), el("label", { class: "inline" }, "Scores of ", chosen), place,
    chips.length > 0 && el("h3", {}, "Run another"),
    el("div", { class: "chips", role: "group", "aria-label": "Run another method on this flight" }, chips));
  draw();
}

const isReference = (line) => !line.run && REFERENCES.includes(line.method);

function scoreTable(rows, run, known) {
  if (!rows.length) return el("p", { class: "soft" }, "No scores yet.");
  const metrics = SHOWN.filter((m) => rows.some((r) => r.metric === m && isNumber(r.value)));
  const lines = new Map();
  for (const r of rows) {
    const key = r.run ?? r.method;
    if (!lines.has(key)) lines.set(key, { ...r, values: {} });
    lines.get(key).values[r.metric] = r.value;
  }
  const all = [...lines.values()].sort((a, b) => Number(isReference(a)) - Number(isReference(b)));
  const merit = (line, m) => {
    const value = line.values[m], target = known[m][1];
    if (isReference(line) || target === null || !isNumber(value)) return -Infinity;
    return target === "high" ? value : -Math.abs(value - target);
  };
  const best = Object.fromEntries(metrics.map((m) => [m, Math.max(...all.map((line) => merit(line, m)))]));
  const isBest = (line, m) => best[m] > -Infinity && merit(line, m) === best[m];
  const cells = all.map((line) => ({
    cells: [nameOf(line), ...metrics.map((m) => decimal(line.values[m]))],
    kind: isReference(line) ? "rule" : line.run === run?.id ? "ours" : null,
    best: metrics.map((m, i) => (isBest(line, m) ? i + 1 : 0)).filter(Boolean),
  }));
  return table({ head: ["method", ...metrics.map((m) => known[m][0])], rows: cells, title: "Scores of methods" }, { kind: "dense" });
}

const nameOf = (line) => (isNumber(line.strength) && line.strength < 1 && !isReference(line) ? `${line.method}, ${Math.round(100 * line.strength)} %` : line.method);
