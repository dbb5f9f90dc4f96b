// A flight in tables and tiles.

import { el, table } from "./dom.js";
import { clock, count, duration, isNumber, number, percent, plusMinus, signed, units } from "./words.js";

const NAMES = { BC: "BC", CO: "CO", CO2: "CO₂", NOx: "NOₓ", bc: "BC", co: "CO", co2: "CO₂", nox: "NOₓ" };
const RATIOS = { mce: "MCE", "co/co2": "ΔCO/ΔCO₂", "bc/co": "ΔBC/ΔCO", "nox/co": "ΔNOₓ/ΔCO" };
const METHODS = { integral: "integrals", slope: "orthogonal regression" };
const KINDS = { 1: "no measurement", 2: "not believed", 3: "repeat", 4: "with care" };

const CHANNEL_HEAD = ["channel", "unit", "noise σ", "its lag-1\ncorrelation", "estimate’s\nσ", "t90\n[s]", "blur at mean\nspeed [m]",
  "below bound\nbefore", "below bound\nafter", "observed"];
const SOURCE_HEAD = ["instrument", "file", "rows used", "rate\n[Hz]", "gaps", "clock moved", "mended"];
const PLUME_NOTE = "Excess over a drifting background, integrated from the unbounded estimate; ± is one standard uncertainty. "
  + "A row leads to its plume. – : too little of the denominator for a ratio.";
const NOISE_NOTE = "Noise is read from quiet stretches of the record as logged (lag-1 near −0.5: differenced, as an aethalometer’s). "
  + "t90 is read from plume edges.";

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

/** The few figures worth large type. */
export function tiles(detail, run, plumes) {
  const after = run?.channels ?? {}, done = detail.channels.filter((c) => isNumber(after[c.name]?.below));
  const gains = done.filter((c) => after[c.name].uncertainty > 0 && c.noise > 0).map((c) => c.noise / after[c.name].uncertainty);
  const below = done.filter((c) => isNumber(c.below)), share = (of) => percent(mean(below.map(of)), 0);
  const shown = [
    [duration(detail.span_s), "in the air"],
    [plumes ? plumes.intervals.length : "…", "plume encounters"],
    done.length && [`${done.length} of ${detail.channels.length}`, `channels by ${run.method}`],
    gains.length && [`${median(gains).toFixed(1)} ×`, "less noise, median"],
    below.length && [`${share((c) => c.below)} → ${share((c) => after[c.name].below)}`, "below the physical bound"],
    isNumber(detail.motion?.speed_mean_m_s) && [`${detail.motion.speed_mean_m_s.toFixed(1)} m/s`, "mean speed", "minor"],
    isNumber(detail.motion?.climb_m) && [`${detail.motion.climb_m.toFixed(0)} m`, "climbed", "minor"],
  ];
  return shown.filter(Boolean).map(([value, label, rank = ""]) =>
    el("div", { class: `tile ${rank}` }, el("b", {}, String(value)), el("span", {}, label)));
}

/** What the colours of the panels mean; only what is there. */
export function keyOf(series, method, other) {
  const all = Object.values(series.channels), kinds = new Set(all.flatMap((c) => c.flags.map((flag) => flag[2])));
  const entry = (role, words, box) => el("li", {}, el("i", { class: `k-${role}${box ? " box" : ""}` }), words);
  return [
    entry("raw", "as logged"),
    all.some((c) => c.estimate) && entry("estimate", method ? `estimate: ${method}` : "estimate"),
    all.some((c) => c.high) && entry("band", "90 % interval", true),
    other && entry("other", `beside it: ${other}`),
    all.some((c) => c.truth) && entry("truth", "truth (simulated)"),
    entry("plume", "plume encounter"),
    ...[1, 2, 3, 4].filter((kind) => kinds.has(kind)).map((kind) => entry(`flag${kind}`, KINDS[kind], true)),
  ].filter(Boolean);
}

export function plumeTables(plumes, goTo) {
  if (!plumes.table.length) return [el("p", { class: "soft" }, "No plume stands out of the background.")];
  const species = Object.keys(plumes.table[0].excess), kinds = Object.keys(RATIOS).filter((k) => plumes.table.some((row) => row.ratios[k]));
  const unit = (key) => { const text = plumes.units[key]; return text && text !== "1" ? `\n[${units(text)}]` : ""; };
  const scale = (s) => (median(plumes.table.map((row) => Math.abs(row.excess[s]?.[0] ?? 0))) >= 10_000 ? 1000 : 1); // else the table is wider than a tablet
  const thousands = (s) => (scale(s) === 1 ? unit(s) : unit(s).replace("[", "[10³ "));
  const head = ["", "from\n[UTC]", "length\n[s]", ...species.map((s) => `∫Δ${NAMES[s] ?? s}${thousands(s)}`), ...kinds.map((k) => RATIOS[k] + unit(k))];
  const rows = plumes.table.map((row, i) => {
    const excess = species.map((s) => plusMinus(...(row.excess[s] ?? []).map((v) => v / scale(s))));
    const ratios = kinds.map((k) => plusMinus(...(row.ratios[k] ?? [])));
    return { cells: [String(i + 1), clock(row.from), count(row.duration_s), ...excess, ...ratios], go: () => goTo(i) };
  });
  return [
    el("p", { class: "soft" }, PLUME_NOTE),
    table(head, rows, { text: [0, 1], caption: "Plume encounters", kind: "dense" }), ...ratioTable(plumes),
  ];
}

function ratioTable(plumes) {
  const kinds = Object.keys(RATIOS).filter((k) => plumes.ratios.some((r) => r.ratio === k));
  if (!kinds.length) return [];
  const found = Object.keys(METHODS).filter((m) => plumes.ratios.some((r) => r.method === m));
  const rows = kinds.map((k) => {
    const mine = plumes.ratios.filter((r) => r.ratio === k), by = (m) => mine.find((r) => r.method === m);
    const unit = mine[0].units === "1" ? "–" : units(mine[0].units), said = k === "mce" ? plumes.mce_says ?? "" : "";
    return [RATIOS[k], unit, ...found.map((m) => plusMinus(by(m)?.value, by(m)?.sigma)), said];
  });
  const head = ["ratio", "unit", ...found.map((m) => METHODS[m]), ""];
  return [el("h3", {}, "Emission ratios of the whole flight"), table(head, rows, { text: [0, 1, head.length - 1], caption: "Emission ratios" })];
}

export function qualityTables(detail, run) {
  const verdicts = detail.verdicts.map((v) => ({ cells: [v.family, v.kept ? "kept" : "left out", v.reason], kind: v.kept ? "" : "gone" }));
  const after = run?.channels ?? {};
  const channels = detail.channels.map((c) => {
    const now = after[c.name] ?? {};
    const noise = [number(c.noise, 2), signed(c.lag1), number(now.uncertainty, 2)];
    return [c.name, units(c.units), ...noise, number(c.t90_s, 2), number(c.blur_m, 2), percent(c.below), percent(now.below), percent(c.observed)];
  });
  return [
    table(["family", "verdict", "why"], verdicts, { text: [0, 1, 2], wide: [2], caption: "Family verdicts" }),
    el("h3", {}, "Channels"), table(CHANNEL_HEAD, channels, { text: [0, 1], caption: "Noise, response and negatives of each channel" }),
    el("p", { class: "note" }, NOISE_NOTE),
  ];
}

const clockOf = (s) => (isNumber(s.clock_offset_s) ? `${signed(s.clock_offset_s)} s, by ${s.clock_by}` : `as it was (${s.clock_by})`);

export function intakeTables(intake) {
  const rows = intake.sources.map((s) => {
    const gaps = s.gaps ? `${s.gaps}, longest ${duration(s.longest_gap_s)}` : "none";
    return [s.instrument, s.file, `${count(s.rows_used)} of ${count(s.rows)}`, number(s.rate_hz), gaps, clockOf(s), (s.repairs ?? []).join("; ")];
  });
  const ignored = (intake.ignored ?? []).map((i) => [i.file, i.reason]);
  return [
    rows.length && table(SOURCE_HEAD, rows, { text: [0, 1, 4, 5, 6], wide: [5, 6], caption: "Recognised instruments" }),
    ignored.length && el("h3", {}, "Not used"),
    ignored.length && table(["file", "why"], ignored, { text: [0, 1], wide: [1], caption: "Ignored files" }),
    ...(intake.notes ?? []).map((note) => el("p", { class: "soft" }, note)),
  ];
}
