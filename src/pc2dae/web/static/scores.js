// Methods on the same flight, each with its scores beside answers that nobody should give.

import { get } from "./api.js";
import { el, fill, option, table } from "./dom.js";
import { decimal, isNumber } from "./words.js";

// Metric → heading, and which value is best: "more", "zero", or nothing where more may be damage.
const METRICS = {
  mae_improvement: ["error\nless [%]", "more"],
  snr_improvement: ["SNR gained\n[dB]", "more"],
  peak_bias: ["peaks\noff [%]", "zero"],
  edge_error: ["edges\noff [s]", "zero"],
  excess_error: ["excess\noff [%]", "zero"],
  ratio_error: ["ratios\noff [%]", "zero"],
  background_bias: ["clean air\noff [σ]", "zero"],
  coverage_90: ["inside\n90 % [%]"],
  negatives: ["negative\n[%]", "zero"],
  smoothness: ["smooth-\nness [%]"],
  hf_reduction: ["fast power\nremoved [%]"],
  mean_10s_change: ["10-s means\nmoved [σ]", "zero"],
  pair_agreement: ["against its\nduplicate"],
  leakage: ["leakage\n[σ]", "zero"],
};
const YARDSTICKS = ["raw", "clip", "constant", "truth"];
const NOTE = "Every method you run on this flight gets a line. In italics answers nobody should give: a constant line is perfectly smooth "
  + "and never negative, so more smoothness than the truth’s is damage.";
let family = "all";

export async function showScores(parent, detail, methods, run, onRun) {
  const rows = await get(`/api/flights/${detail.id}/scores`).catch(() => []);
  const made = new Set(detail.runs.map((r) => r.method));
  const chip = (m) => el("button", { type: "button", title: m.note, onclick: (e) => { e.target.disabled = true; onRun(m.name, 1); } }, `+ ${m.title}`);
  const chips = methods.filter((m) => !made.has(m.name) && !YARDSTICKS.includes(m.name)).map(chip);
  const families = ["all", ...new Set(rows.map((r) => r.family).filter((f) => f !== "all"))];
  const place = el("div"), draw = () => fill(place, scoreTable(rows.filter((r) => r.family === family), run));
  const chosen = el("select", { onchange: (e) => { family = e.target.value; draw(); } },
    families.map((f) => option(f, f === "all" ? "mean of families" : f, { selected: f === family })));
  fill(parent, el("p", { class: "soft" }, NOTE), el("label", { class: "inline" }, "Scores of ", chosen), place,
    chips.length > 0 && el("h3", {}, "Run another"),
    el("div", { class: "chips", role: "group", "aria-label": "Run another method on this flight" }, chips));
  draw();
}

const isRule = (line) => !line.run && YARDSTICKS.includes(line.method);

function scoreTable(rows, run) {
  if (!rows.length) return el("p", { class: "soft" }, "No scores yet.");
  const metrics = Object.keys(METRICS).filter((m) => rows.some((r) => r.metric === m && isNumber(r.value)));
  const lines = new Map();
  for (const r of rows) {
    const key = r.run ?? r.method;
    if (!lines.has(key)) lines.set(key, { ...r, values: {} });
    lines.get(key).values[r.metric] = r.value;
  }
  const all = [...lines.values()].sort((a, b) => isRule(a) - isRule(b));
  const merit = (line, m) => {
    const value = line.values[m], wanted = METRICS[m][1];
    if (isRule(line) || !wanted || !isNumber(value)) return -Infinity;
    return wanted === "zero" ? -Math.abs(value) : value;
  };
  const best = Object.fromEntries(metrics.map((m) => [m, Math.max(...all.map((line) => merit(line, m)))]));
  const isBest = (line, m) => best[m] > -Infinity && merit(line, m) === best[m];
  return table(["method", ...metrics.map((m) => METRICS[m][0])], all.map((line) => ({
    cells: [nameOf(line), ...metrics.map((m) => decimal(line.values[m]))],
    kind: isRule(line) ? "rule" : line.run === run?.id ? "ours" : null,
    best: metrics.map((m, i) => (isBest(line, m) ? i + 1 : 0)).filter(Boolean),
  })), { caption: "Scores of methods" });
}

const nameOf = (line) => (isNumber(line.strength) && line.strength < 1 && !isRule(line) ? `${line.method}, ${Math.round(100 * line.strength)} %` : line.method);
