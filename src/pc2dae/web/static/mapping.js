// @ts-check
// The columns of a table: what each one is, in which unit; as a mapping that the server saves as a suite.

import { el, option } from "./view/dom.js";

const ENVIRONMENT = { air_temperature: "air temperature [°C]", relative_humidity: "relative humidity [%]", air_pressure: "air pressure [hPa]" };
const MOTION = { latitude: "latitude", longitude: "longitude", altitude: "altitude", ground_speed: "ground speed" };
const USES = { channel: "a channel", "": "ignore", ...ENVIRONMENT, ...MOTION };
const LENGTHS = { altitude: ["m", "ft"], ground_speed: ["m s-1", "km h-1", "kn", "mph"] };
/** @type {[RegExp, string][]} */
const GUESSES = [
  [/^lat/i, "latitude"],
  [/^lon|^lng/i, "longitude"],
  [/^(t|temp.*|.*temperature)$/i, "air_temperature"],
  [/^(rh|hum.*|.*humidity)$/i, "relative_humidity"],
  [/^(p|press.*|.*pressure)$/i, "air_pressure"],
];
const UNITS = ["ppb", "ppm", "ug m-3", "ng m-3", "mg m-3"];
/** @type {[RegExp, string][]} */
const FAMILIES = [[/co2/i, "co2"], [/^(bc|ebc|black)/i, "bc"], [/^pm|dust|partic/i, "pm"]];

export const nameOf = (column) => column.toLowerCase().replace(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+|_+$/g, "") || "channel";
const unitOf = (column) => UNITS.find((unit) => column.toLowerCase().includes(unit.split(" ")[0])) ?? "";
export const field = (words, input, problem = null) => {
  if (problem) input.setAttribute("aria-invalid", "true");
  return el("label", { class: "field" }, words, input, problem && el("span", { class: "problem" }, problem));
};

/** The fields of a mapping, filled with `known`; `problemOf(field)` is the error to show beside a field. */
export function mappingFields(intake, known, problemOf) {
  const { columns, time_columns: times = [] } = intake;
  const stamp = known?.time_column ?? times[0];
  const choices = [...new Set([stamp, ...columns.map((c) => c.column)].filter(Boolean))];
  const time = el("select", {}, choices.map((name) => option(name, name, { selected: name === stamp })));
  const format = el("input", { value: known?.time_format ?? "", placeholder: "%d.%m.%Y %H:%M:%S", autocomplete: "off", spellcheck: "false" });
  const missing = el("input", { value: (known?.missing ?? []).join(", "), placeholder: "-9999, 65535", autocomplete: "off" });
  const rate = el("input", { type: "number", min: "0.001", max: "100", step: "any", value: known?.rate_hz ?? 1 });
  const lines = columns.filter((c) => c.column !== stamp).map((c) => line(c, known, times, problemOf));
  const value = (zone) => {
    const sentinels = missing.value.split(",").map((text) => text.trim()).filter(Boolean).map(Number);
    const mapping = { time_column: time.value, zone, time_format: format.value.trim() || null, rate_hz: Number(rate.value), missing: sentinels, channels: [], environment: {}, motion: {}, column_units: {} };
    for (const each of lines) each.into(mapping);
    return mapping;
  };
  const head = [field("Time column", time, problemOf("time_column")), field("Time format, if unusual", format, problemOf("time_format")), field("Values that mean missing", missing), field("Rate [Hz]", rate)];
  return { head, lines: lines.map((each) => each.row), value };
}

/** What `known` says of a column, else a first guess from its name. */
function use(column, known, times, isNumeric) {
  if (!known) return GUESSES.find(([pattern]) => pattern.test(column))?.[1] ?? (isNumeric && !times.includes(column) ? "channel" : "");
  if (known.channels.some((channel) => channel.column === column)) return "channel";
  return Object.entries({ ...known.environment, ...known.motion }).find(([, name]) => name === column)?.[0] ?? "";
}

/** One column: what it is, and for a channel its name, unit, family, t90 and bound. */
function line({ column, example }, known, times, problemOf) {
  const given = known?.channels.find((channel) => channel.column === column);
  const chosen = use(column, known, times, Number.isFinite(parseFloat(example)));
  const what = el("select", { "aria-label": `What ${column} is` }, Object.entries(USES).map(([value, words]) => option(value, words, { selected: value === chosen })));
  const input = (label, value, more = {}) => el("input", { "aria-label": `${label} of ${column}`, value: value ?? "", ...more });
  const name = input("Name", given?.name ?? nameOf(column), { pattern: "[A-Za-z][A-Za-z0-9_]*" });
  const unit = input("Unit", given ? given.units : unitOf(column), { placeholder: "ppb, ug m-3" });
  const family = input("Family", given?.family ?? FAMILIES.find(([pattern]) => pattern.test(column))?.[1] ?? "gas");
  const t90 = input("Response time t90", given?.t90_s, { type: "number", min: "0", step: "any", placeholder: "unknown" });
  const bound = input("Lower bound", given?.lower_bound ?? 0, { type: "number", step: "any" });
  const twin = input("Same air as", given?.duplicate_of, { placeholder: "none" });
  const parts = [field("Name", name, problemOf(`channel:${given?.name}`)), field("Unit", unit, problemOf(`column:${column}`)), field("Family", family), field("t90 [s]", t90), field("Lower bound", bound), field("Second sensor of", twin)];
  const length = el("select", { "aria-label": `Unit that ${column} is in` });
  const inUnit = field("Unit", length);
  const adapt = () => {
    parts.forEach((part) => { part.hidden = what.value !== "channel"; });
    unit.required = name.required = what.value === "channel";
    inUnit.hidden = !(what.value in LENGTHS);
    length.replaceChildren(option("", "as its name says, else the first"), ...(LENGTHS[what.value] ?? []).map((u) => option(u, u, { selected: known?.column_units?.[column] === u })));
  };
  what.addEventListener("change", adapt);
  adapt();
  const into = (mapping) => {
    if (what.value === "channel") mapping.channels.push({
      ...given, column, name: name.value, units: unit.value, family: family.value, t90_s: t90.value === "" ? null : Number(t90.value),
      lower_bound: Number(bound.value || 0), duplicate_of: twin.value.trim() || null,
    });
    else if (what.value in ENVIRONMENT) mapping.environment[what.value] = column;
    else if (what.value in MOTION) mapping.motion[what.value] = column;
    if (length.value && !inUnit.hidden) mapping.column_units[column] = length.value;
  };
  const about = el("div", {}, el("b", {}, column), el("span", { class: "note" }, `such as ${example || "nothing"}`), what);
  return { row: el("div", { class: "map-line" }, about, parts, inUnit), into };
}
