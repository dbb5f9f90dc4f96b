// Columns that nobody knows: say what they are, keep that as a suite (TOML), read the flight again.

import { get, post, put } from "./api.js";
import { el, fill, option } from "./dom.js";

const ENVIRONMENT = { air_temperature: "air temperature [°C]", relative_humidity: "relative humidity [%]", air_pressure: "air pressure [hPa]" };
const MOTION = { latitude: "latitude", longitude: "longitude", altitude: "altitude [m]", ground_speed: "ground speed [m/s]" };
const GUESSES = [[/^lat/i, "latitude"], [/^lon|^lng/i, "longitude"], [/alt/i, "altitude"], [/speed/i, "ground_speed"], [/^(t|temp.*|.*temperature)$/i, "air_temperature"], [/^(rh|hum.*|.*humidity)$/i, "relative_humidity"], [/^(p|press.*|.*pressure)$/i, "air_pressure"]];
const UNITS = ["ppb", "ppm", "ug m-3", "ng m-3", "mg m-3", "1 cm-3"];
const FAMILIES = [[/co2/i, "co2"], [/^(bc|ebc|black)/i, "bc"], [/^pm|dust|partic/i, "pm"]];

const nameOf = (column) => column.toLowerCase().replace(/[^a-z0-9_]+/g, "_").replace(/^[^a-z]+|_+$/g, "") || "channel";
const unitOf = (column) => UNITS.find((u) => column.toLowerCase().includes(u.split(" ")[0])) ?? (/pm/i.test(column) ? "ug m-3" : "ppb");

export async function mappingForm(parent, detail, onDone) {
  const { columns, time_columns: times = [] } = detail.intake;
  const isTime = (column) => times.includes(column) || /time|date/i.test(column);
  const lines = columns.filter((c) => !isTime(c.column)).map((c) => line(c));
  const time = el("select", {}, columns.map((c) => option(c.column, c.column, { selected: c.column === (times[0] ?? columns.find((x) => isTime(x.column))?.column) })));
  const zone = el("input", { placeholder: "UTC, -05:00, America/Regina", autocomplete: "off" });
  const name = el("input", { required: true, pattern: "[a-z0-9-]{1,40}", title: "small letters, digits and dashes", value: nameOf(detail.name.replace(/\.\w+$/, "")).replaceAll("_", "-").slice(0, 40) });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const saved = el("span", { class: "note" });
  const form = el("form", {}, el("h2", {}, "Name the columns"),
    el("p", { class: "soft" }, "These files hold columns no suite names. Say what they are; the answer is kept as a suite and used for every later flight of this payload."),
    el("div", { class: "map-head" }, el("label", { class: "field" }, "Name of the suite", name), el("label", { class: "field" }, "Column of time", time), el("label", { class: "field" }, "Zone, if stamps carry none", zone)),
    el("div", { class: "map-grid" }, lines.map((l) => l.row)),
    el("div", { class: "row map-head" }, el("button", { class: "primary" }, "Save the suite and read the flight"), saved), problem);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try {
      const suite = { time_column: time.value, zone: zone.value.trim() || null, time_format: null, channels: [], environment: {}, motion: {} };
      for (const l of lines) l.into(suite);
      await put(`/api/suites/${name.value}`, suite);
      fill(saved, el("a", { href: `/api/suites/${name.value}.toml`, download: true }, `${name.value}.toml`));
      await post(`/api/flights/${detail.id}/again`, { suite: name.value, zone: zone.value.trim() || null });
      onDone();
    } catch (error) {
      problem.textContent = error.line ?? String(error);
      problem.hidden = false;
    }
  });
  fill(parent, form);
  const known = await get("/api/suites").catch(() => []);
  if (known.length) parent.append(otherSuite(detail, known, onDone));
}

/** One column: what it is, and for a channel its name, unit, family, t90 and bound. */
function line({ column, example, examples }) {
  const guess = GUESSES.find(([pattern]) => pattern.test(column))?.[1] ?? (Number.isFinite(parseFloat(example ?? examples?.[0])) ? "channel" : "");
  const use = el("select", { "aria-label": `What ${column} is` }, [["channel", "a channel"], ["", "leave it out"], ...Object.entries(ENVIRONMENT), ...Object.entries(MOTION)].map(([v, words]) => option(v, words, { selected: v === guess })));
  const input = (label, value, more = {}) => el("input", { "aria-label": `${label} of ${column}`, value, ...more });
  const name = input("Name", nameOf(column), { pattern: "[A-Za-z][A-Za-z0-9_]*" }), unit = input("Unit", unitOf(column)), family = input("Family", FAMILIES.find(([p]) => p.test(column))?.[1] ?? "gas");
  const t90 = input("Response time t90", "", { type: "number", min: "0", step: "any", placeholder: "unknown" }), bound = input("Lower bound", "0", { type: "number", step: "any" });
  const parts = [["Name", name], ["Unit", unit], ["Family", family], ["t90 [s]", t90], ["Lower bound", bound]].map(([words, field]) => el("label", { class: "field" }, words, field));
  const adapt = () => parts.forEach((part) => { part.hidden = use.value !== "channel"; });
  use.addEventListener("change", adapt);
  adapt();
  const row = el("div", { class: "map-line" }, el("div", {}, el("b", {}, column), el("span", { class: "note" }, `such as ${example ?? examples?.[0] ?? "nothing"}`), use), parts);
  const into = (suite) => {
    if (use.value === "channel") suite.channels.push({ column, name: name.value, units: unit.value, family: family.value, t90_s: t90.value === "" ? null : Number(t90.value), lower_bound: Number(bound.value || 0) });
    else if (use.value in ENVIRONMENT) suite.environment[use.value] = column;
    else if (use.value in MOTION) suite.motion[use.value] = column;
  };
  return { row, into };
}

function otherSuite(detail, known, onDone) {
  const chosen = el("select", {}, known.map((suite) => option(suite.name, suite.name)));
  return el("div", { class: "row map-head" }, el("label", { class: "field" }, "Or read it with a suite there is", chosen),
    el("button", { type: "button", onclick: () => post(`/api/flights/${detail.id}/again`, { suite: chosen.value, zone: null }).then(onDone, () => {}) }, "Read"));
}
