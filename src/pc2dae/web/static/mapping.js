// Unknown columns: the user maps them, the mapping is saved as a suite (TOML), the flight is read again.

import { get, post, put } from "./api.js";
import { el, fill, option } from "./view/dom.js";

const ENVIRONMENT = { air_temperature: "air temperature [°C]", relative_humidity: "relative humidity [%]", air_pressure: "air pressure [hPa]" };
const MOTION = { latitude: "latitude", longitude: "longitude", altitude: "altitude [m]", ground_speed: "ground speed [m/s]" };
const USES = { channel: "a channel", "": "ignore", ...ENVIRONMENT, ...MOTION };
const GUESSES = [
  [/^lat/i, "latitude"],
  [/^lon|^lng/i, "longitude"],
  [/alt/i, "altitude"],
  [/speed/i, "ground_speed"],
  [/^(t|temp.*|.*temperature)$/i, "air_temperature"],
  [/^(rh|hum.*|.*humidity)$/i, "relative_humidity"],
  [/^(p|press.*|.*pressure)$/i, "air_pressure"],
];
const UNITS = ["ppb", "ppm", "ug m-3", "ng m-3", "mg m-3"];
const FAMILIES = [[/co2/i, "co2"], [/^(bc|ebc|black)/i, "bc"], [/^pm|dust|partic/i, "pm"]];
const NOTE = "These files have columns that no suite defines. Describe them; the description is saved as a suite for later flights of this payload.";

const nameOf = (column) => column.toLowerCase().replace(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+|_+$/g, "") || "channel";
const unitOf = (column) => UNITS.find((u) => column.toLowerCase().includes(u.split(" ")[0])) ?? (/pm/i.test(column) ? "ug m-3" : "ppb");
const field = (words, input) => el("label", { class: "field" }, words, input);

export async function mappingForm(parent, detail, onDone) {
  const { columns, time_columns: times = [] } = detail.intake;
  const isTime = (column) => times.includes(column) || /time|date/i.test(column);
  const stamp = times[0] ?? columns.find((c) => isTime(c.column))?.column;
  const lines = columns.filter((c) => !isTime(c.column)).map(line);
  const time = el("select", {}, columns.map((c) => option(c.column, c.column, { selected: c.column === stamp })));
  const zone = el("input", { placeholder: "UTC, -05:00, America/Regina", autocomplete: "off" });
  const called = nameOf(detail.name.replace(/\.\w+$/, "")).replaceAll("_", "-").slice(0, 40);
  const name = el("input", { required: true, pattern: "[a-z0-9\\-]{1,40}", title: "small letters, digits and dashes", value: called });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const saved = el("span", { class: "note" });
  const save = async () => {
    const suite = { time_column: time.value, zone: zone.value.trim() || null, time_format: null, channels: [], environment: {}, motion: {} };
    for (const each of lines) each.into(suite);
    await put(`/api/suites/${name.value}`, suite);
    fill(saved, el("a", { href: `/api/suites/${name.value}.toml`, download: true }, `${name.value}.toml`));
    await post(`/api/flights/${detail.id}/again`, { suite: name.value, zone: suite.zone });
  };
  const onsubmit = (event) => {
    event.preventDefault();
    problem.hidden = true;
    save().then(onDone, (error) => {
      problem.textContent = error.line ?? String(error);
      problem.hidden = false;
    });
  };
  fill(parent, el("form", { onsubmit }, el("h2", {}, "Name the columns"), el("p", { class: "soft" }, NOTE),
    el("div", { class: "map-head" }, field("Suite name", name), field("Time column", time), field("Time zone, if stamps have none", zone)),
    el("div", { class: "map-grid" }, lines.map((each) => each.row)),
    el("div", { class: "row map-head" }, el("button", { class: "primary" }, "Save the suite and read the flight"), saved), problem));
  const known = await get("/api/suites").catch(() => []);
  if (known.length) parent.append(otherSuite(detail, known, onDone));
}

/** One column: what it is, and for a channel its name, unit, family, t90 and bound. */
function line({ column, example }) {
  const isNumeric = Number.isFinite(parseFloat(example));
  const guess = GUESSES.find(([pattern]) => pattern.test(column))?.[1] ?? (isNumeric ? "channel" : "");
  const uses = Object.entries(USES).map(([value, words]) => option(value, words, { selected: value === guess }));
  const use = el("select", { "aria-label": `What ${column} is` }, uses);
  const input = (label, value, more = {}) => el("input", { "aria-label": `${label} of ${column}`, value, ...more });
  const name = input("Name", nameOf(column), { pattern: "[A-Za-z][A-Za-z0-9_]*" });
  const unit = input("Unit", unitOf(column));
  const family = input("Family", FAMILIES.find(([pattern]) => pattern.test(column))?.[1] ?? "gas");
  const t90 = input("Response time t90", "", { type: "number", min: "0", step: "any", placeholder: "unknown" });
  const bound = input("Lower bound", "0", { type: "number", step: "any" });
  const parts = [field("Name", name), field("Unit", unit), field("Family", family), field("t90 [s]", t90), field("Lower bound", bound)];
  const adapt = () => parts.forEach((part) => { part.hidden = use.value !== "channel"; });
  use.addEventListener("change", adapt);
  adapt();
  const what = el("div", {}, el("b", {}, column), el("span", { class: "note" }, `such as ${example ?? "nothing"}`), use);
  const channel = () => ({
    column, name: name.value, units: unit.value, family: family.value,
    t90_s: t90.value === "" ? null : Number(t90.value), lower_bound: Number(bound.value || 0),
  });
  const into = (suite) => {
    if (use.value === "channel") suite.channels.push(channel());
    else if (use.value in ENVIRONMENT) suite.environment[use.value] = column;
    else if (use.value in MOTION) suite.motion[use.value] = column;
  };
  return { row: el("div", { class: "map-line" }, what, parts), into };
}

function otherSuite(detail, known, onDone) {
  const chosen = el("select", {}, known.map((suite) => option(suite.name, suite.name)));
  const read = () => post(`/api/flights/${detail.id}/again`, { suite: chosen.value, zone: null }).then(onDone, () => {});
  return el("div", { class: "row map-head" }, field("Or read it with an existing suite", chosen), el("button", { type: "button", onclick: read }, "Read"));
}
