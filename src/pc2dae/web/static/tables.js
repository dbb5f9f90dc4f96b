// A flight in tables and tiles.

import { el, table } from "./dom.js";
import { clock, count, duration, isNumber, number, percent, plusMinus, signed, units } from "./words.js";

const NAMES = { BC: "BC", CO: "CO", CO2: "CO₂", NOx: "NOₓ", bc: "BC", co: "CO", co2: "CO₂", nox: "NOₓ" };
const RATIOS = { mce: "MCE", "co/co2": "ΔCO/ΔCO₂", "bc/co": "ΔBC/ΔCO", "nox/co": "ΔNOₓ/ΔCO" };
const METHODS = { integral: "integrals", slope: "orthogonal regression" };
const KINDS = { 1: "no measurement", 2: "not believed", 3: "repeat", 4: "with care" };

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
const mean = (values) => values.reduce((sum, v) => sum + v, 0) / values.length;

/** The few figures worth large type. */
export function tiles(detail, run, plumes) {
  const after = run?.channels ?? {}, done = detail.channels.filter((c) => isNumber(after[c.name]?.below));
  const gains = done.filter((c) => after[c.name].uncertainty > 0 && c.noise > 0).map((c) => c.noise / after[c.name].uncertainty);
  const below = done.filter((c) => isNumber(c.below));
  const shown = [
    [duration(detail.span_s), "in the air"],
    [plumes ? plumes.intervals.length : "…", "plume encounters"],
    done.length && [`${done.length} of ${detail.channels.length}`, `channels by ${run.method}`],
    gains.length && [`${median(gains).toFixed(1)} ×`, "less noise, median"],
    below.length && [`${percent(mean(below.map((c) => c.below)), 0)} → ${percent(mean(below.map((c) => after[c.name].below)), 0)}`, "below the physical bound"],
    isNumber(detail.motion?.speed_mean_m_s) && [`${detail.motion.speed_mean_m_s.toFixed(1)} m/s`, "mean speed"],
    isNumber(detail.motion?.climb_m) && [`${detail.motion.climb_m.toFixed(0)} m`, "climbed"],
  ];
  return shown.filter(Boolean).map(([value, label]) => el("div", { class: label === "mean speed" || label === "climbed" ? "tile minor" : "tile" }, el("b", {}, String(value)), el("span", {}, label)));
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
  const rows = plumes.table.map((row, i) => ({
    cells: [String(i + 1), clock(row.from), count(row.duration_s), ...species.map((s) => plusMinus(...(row.excess[s] ?? []).map((v) => v / scale(s)))), ...kinds.map((k) => plusMinus(...(row.ratios[k] ?? [])))],
    go: () => goTo(i),
  }));
  return [
    el("p", { class: "soft" }, "Excess over a drifting background, integrated from the unbounded estimate; ± is one standard uncertainty. A row leads to its plume. – : too little of the denominator for a ratio."),
    table(head, rows, { text: [0, 1], caption: "Plume encounters", kind: "dense" }), ...ratioTable(plumes),
  ];
}

function ratioTable(plumes) {
  const kinds = Object.keys(RATIOS).filter((k) => plumes.ratios.some((r) => r.ratio === k));
  if (!kinds.length) return [];
  const found = Object.keys(METHODS).filter((m) => plumes.ratios.some((r) => r.method === m));
  const rows = kinds.map((k) => {
    const mine = plumes.ratios.filter((r) => r.ratio === k), by = (m) => mine.find((r) => r.method === m);
    return [RATIOS[k], mine[0].units === "1" ? "–" : units(mine[0].units), ...found.map((m) => plusMinus(by(m)?.value, by(m)?.sigma)), k === "mce" ? plumes.mce_says ?? "" : ""];
  });
  return [el("h3", {}, "Emission ratios of the whole flight"), table(["ratio", "unit", ...found.map((m) => METHODS[m]), ""], rows, { text: [0, 1, found.length + 2], caption: "Emission ratios" })];
}

export function qualityTables(detail, run) {
  const verdicts = detail.verdicts.map((v) => ({ cells: [v.family, v.kept ? "kept" : "left out", v.reason], kind: v.kept ? "" : "gone" }));
  const after = run?.channels ?? {};
  const channels = detail.channels.map((c) => {
    const now = after[c.name] ?? {};
    return [c.name, units(c.units), number(c.noise, 2), signed(c.lag1), number(now.uncertainty, 2), number(c.t90_s, 2), number(c.blur_m, 2), percent(c.below), percent(now.below), percent(c.observed)];
  });
  const head = ["channel", "unit", "noise σ", "its lag-1\ncorrelation", "estimate’s\nσ", "t90\n[s]", "blur at mean\nspeed [m]", "below bound\nbefore", "below bound\nafter", "observed"];
  return [
    table(["family", "verdict", "why"], verdicts, { text: [0, 1, 2], wide: [2], caption: "Family verdicts" }),
    el("h3", {}, "Channels"), table(head, channels, { text: [0, 1], caption: "Noise, response and negatives of each channel" }),
    el("p", { class: "note" }, "Noise is read from quiet stretches of the record as logged (lag-1 near −0.5: differenced, as an aethalometer’s). t90 is read from plume edges."),
  ];
}

const clockOf = (s) => (isNumber(s.clock_offset_s) ? `${signed(s.clock_offset_s)} s, by ${s.clock_by}` : `as it was (${s.clock_by})`);

export function intakeTables(intake) {
  const rows = intake.sources.map((s) => [s.instrument, s.file, `${count(s.rows_used)} of ${count(s.rows)}`, number(s.rate_hz), s.gaps ? `${s.gaps}, longest ${duration(s.longest_gap_s)}` : "none", clockOf(s), (s.repairs ?? []).join("; ")]);
  const ignored = (intake.ignored ?? []).map((i) => [i.file, i.reason]);
  return [
    rows.length && table(["instrument", "file", "rows used", "rate\n[Hz]", "gaps", "clock moved", "mended"], rows, { text: [0, 1, 4, 5, 6], wide: [5, 6], caption: "Recognised instruments" }),
    ignored.length && el("h3", {}, "Not used"), ignored.length && table(["file", "why"], ignored, { text: [0, 1], wide: [1], caption: "Ignored files" }),
    ...(intake.notes ?? []).map((note) => el("p", { class: "soft" }, note)),
  ];
}
