// @ts-check
// Another way to read a flight: suite, zone, columns, clock offsets, metadata, a split at a gap.

import { get, post } from "./api.js";
import { listFlights } from "./flights.js";
import { field, mappingFields, nameOf } from "./mapping.js";
import { questionForm } from "./questions.js";
import { el, fill, option } from "./view/dom.js";
import { duration } from "./view/format.js";

const DESCRIBE = "+"; // in the list of suites
const NOTE = "These files have columns that no suite defines. Describe them; the description is saved as a suite for later flights of this payload.";

/** What can be done about a flight that was not read. */
export async function repairForm(parent, detail, onDone) {
  const asks = (detail.questions ?? []).length > 0;
  const known = await get("/api/suites").catch(() => []);
  const form = readAgainForm(detail, known, onDone);
  fill(parent, asks && questionForm(detail, onDone), asks ? el("details", { class: "other-ways" }, el("summary", {}, "Read it in another way"), form) : form);
}

/** The form behind "Read again …" of a flight that was read. */
export async function readAgainDetails(detail, onDone) {
  const known = await get("/api/suites").catch(() => []);
  return el("details", { class: "other-ways" }, el("summary", {}, "Read again …"), splitButtons(detail), readAgainForm(detail, known, onDone));
}

function readAgainForm(detail, known, onDone) {
  const how = detail.how ?? {}, intake = detail.intake ?? { columns: [] }, columns = intake.columns ?? [];
  const problemOf = (name) => (detail.error && detail.field === name ? [detail.error, detail.hint].filter(Boolean).join(". ") : null);
  const starts = how.mapping && columns.length ? DESCRIBE : how.suite ?? (columns.length && detail.state === "failed" ? DESCRIBE : "");
  const suites = [option("", "recognise by the files", { selected: starts === "" }), columns.length > 0 && option(DESCRIBE, "describe the columns below", { selected: starts === DESCRIBE }),
    ...known.map((suite) => option(suite.name, suite.name, { selected: suite.name === starts }))].filter(Boolean);
  const suite = el("select", {}, suites);
  const zone = el("input", { value: how.mapping?.zone ?? how.zone ?? "", placeholder: "UTC, -05:00, America/Regina", autocomplete: "off", spellcheck: "false" });
  const called = how.suite && how.mapping ? how.suite : nameOf(detail.name.replace(/\.\w+$/, "")).replaceAll("_", "-").slice(0, 40);
  const name = el("input", { pattern: "[a-z0-9][a-z0-9\\-]{0,39}", title: "small letters, digits and dashes", value: called });
  const mapping = columns.length ? mappingFields(intake, how.mapping ?? intake.proposal, problemOf) : null;
  const keys = (intake.sources ?? []).map((source) => source.instrument);
  const offsets = el("input", { value: pairs(how.offsets), placeholder: keys.length ? keys.map((key) => `${key}=0`).join(", ") : "ae51=95, stap=-3", autocomplete: "off" });
  const metadata = el("textarea", { rows: "2", placeholder: "project=FASMEE\ncreator_name=A. Author" });
  metadata.value = pairs(how.metadata, "\n");
  const salvage = el("input", { type: "checkbox", checked: how.salvage });
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const described = [field("Suite name", name, problemOf("suite")), ...(mapping?.head ?? [])];
  const grid = el("div", { class: "map-grid" }, mapping?.lines ?? []);
  const note = el("p", { class: "soft" }, NOTE);
  const button = el("button", { class: "primary" });
  const adapt = () => {
    const isDescribed = suite.value === DESCRIBE;
    [grid, note, ...described].forEach((part) => { part.hidden = !isDescribed; });
    grid.querySelectorAll("input, select").forEach((/** @type {any} */ input) => { input.disabled = !isDescribed; });
    button.textContent = isDescribed ? "Save the suite and read the flight" : "Read the flight";
  };
  suite.addEventListener("change", adapt);
  adapt();
  const send = () => {
    const isDescribed = suite.value === DESCRIBE, at = zone.value.trim() || null;
    const clocks = Object.fromEntries(parsed(offsets.value, ",").map(([key, value]) => {
      if (!Number.isFinite(Number(value))) throw new Error(`the clock offset of ${key} is not a number of seconds`);
      return [key, Number(value)];
    }));
    return post(`/api/flights/${detail.id}/again`, {
      suite: isDescribed ? name.value : suite.value || null, zone: at, mapping: isDescribed ? mapping.value(at) : null, offsets: clocks,
      metadata: Object.fromEntries(parsed(metadata.value, "\n")), salvage: salvage.checked, find_suite: !isDescribed && !suite.value && !detail.saved_suite,
    });
  };
  const onsubmit = async (event) => {
    event.preventDefault();
    problem.hidden = true;
    try { await send(); await onDone(); } catch (error) {
      problem.textContent = error.line ?? error.message;
      problem.hidden = false;
    }
  };
  const isField = (prefix) => (detail.field?.startsWith(`${prefix}:`) ? problemOf(detail.field) : null);
  const packed = (detail.files ?? []).some((file) => /\.(gz|zip)$/i.test(file.name));
  return el("form", { class: "repair", onsubmit }, columns.length > 0 && el("h2", {}, "Name the columns"), note,
    el("div", { class: "map-head" }, field("Suite", suite), field("Time zone, if stamps have none", zone, problemOf("zone")), ...described),
    grid,
    el("details", { open: Boolean(pairs(how.offsets) || pairs(how.metadata) || isField("offsets") || isField("metadata") || detail.field === "salvage") }, el("summary", {}, "Clocks, metadata"),
      el("div", { class: "map-head" }, field("Clock offsets: seconds that an instrument is ahead", offsets, isField("offsets")), field("Metadata, one per line", metadata, isField("metadata")),
        packed && el("label", { class: "check" }, salvage, "use what a damaged compressed file still yields"))),
    el("div", { class: "row" }, button), problem);
}

const pairs = (table, separator = ", ") => Object.entries(table ?? {}).map(([key, value]) => `${key}=${value}`).join(separator);
const parsed = (text, separator) => text.split(separator).map((part) => part.trim()).filter(Boolean).map((part) => {
  const at = part.indexOf("=");
  return at < 0 ? [part, ""] : [part.slice(0, at).trim(), part.slice(at + 1).trim()];
});

/** Split at one of the longest gaps of a flight. */
function splitButtons(detail) {
  const gaps = [...(detail.gaps ?? [])].sort((a, b) => b.duration_s - a.duration_s).slice(0, 4).filter((gap) => gap.duration_s >= 60);
  if (!gaps.length) return null;
  const split = async (gap) => {
    const at = Date.parse(`${gap.start.slice(0, 19)}Z`) + 1000 * gap.duration_s;
    const made = await post(`/api/flights/${detail.id}/split`, { at: [Math.round(at)] });
    await listFlights();
    location.hash = `#/flight/${made[0].id}`;
  };
  return el("div", { class: "row" }, el("span", { class: "note" }, "Two flights in one? The original is kept."),
    gaps.map((gap) => el("button", { type: "button", onclick: () => split(gap) }, `Split at the gap of ${duration(gap.duration_s)} from ${gap.start.slice(11, 16)} UTC`)));
}
