// @ts-check
// What a flight is called: name, notes, tags; and which saved suite was found for it.

import { get, patch, post } from "./api.js";
import { listFlights } from "./flights.js";
import { readAgainDetails } from "./repair.js";
import { el, fill, show } from "./view/dom.js";
import { day } from "./view/format.js";

/** The lines under a flight's title; `onChange` shows the flight again. */
export async function aboutFlight(parent, detail, onChange) {
  show(parent, true);
  const tags = detail.tags.length > 0 && el("p", { class: "tags" }, detail.tags.map((tag) => el("span", { class: "tag" }, tag)));
  fill(parent, tags, detail.notes && el("p", { class: "notes" }, detail.notes));
  if (detail.gallery) return;
  const turn = (parent.turn = (parent.turn ?? 0) + 1);
  const parts = [detail.saved_suite && (await foundLine(detail, onChange)), describeForm(detail, onChange),
    detail.state === "ready" && detail.files.length > 0 && (await readAgainDetails(detail, onChange))];
  if (turn === parent.turn) parent.append(...parts.filter(Boolean));
}

async function foundLine(detail, onChange) {
  const saved = (await get("/api/suites").catch(() => [])).find((suite) => suite.name === detail.saved_suite)?.saved;
  const undo = () => post(`/api/flights/${detail.id}/again`, { find_suite: false }).then(onChange);
  return el("p", { class: "row" }, el("span", { class: "note" }, `Read with suite ${detail.saved_suite}${saved ? `, saved on ${day(saved)}` : ""}: its columns are the same.`),
    el("button", { type: "button", onclick: undo }, "Choose another"));
}

function describeForm(detail, onChange) {
  const name = el("input", { required: true, maxlength: "80", value: detail.name });
  const tags = el("input", { value: detail.tags.join(", "), placeholder: "konza, prescribed burn", autocomplete: "off" });
  const notes = el("textarea", { rows: "3", maxlength: "10000" });
  notes.value = detail.notes;
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const onsubmit = async (event) => {
    event.preventDefault();
    try {
      await patch(`/api/flights/${detail.id}`, { name: name.value, notes: notes.value, tags: tags.value.split(",").map((tag) => tag.trim()).filter(Boolean) });
      await listFlights();
      await onChange();
    } catch (error) {
      problem.textContent = error.line ?? String(error);
      problem.hidden = false;
    }
  };
  return el("details", { class: "other-ways" }, el("summary", {}, "Name, notes, tags"), el("form", { class: "describe", onsubmit },
    el("label", { class: "field" }, "Name", name), el("label", { class: "field" }, "Tags, with commas between them", tags), el("label", { class: "field" }, "Notes", notes),
    el("div", { class: "row" }, el("button", { class: "primary" }, "Save")), problem));
}
