// @ts-check
// Questions about a flight's files: a small form with the first values beside each, answered with one click.

import { post, remove } from "./api.js";
import { listFlights } from "./flights.js";
import { el, option } from "./view/dom.js";
import { count, day, duration } from "./view/format.js";

const seen = (values) => values.length > 0 && el("span", { class: "note" }, `first values: ${values.join(", ")}`);
const clock = (ms) => new Date(ms).toISOString().slice(11, 16);

/** The form that suits the questions; `onDone` is called when the flight is being read. */
export function questionForm(detail, onDone) {
  const kind = detail.questions[0]?.kind;
  if (kind === "flights") return partsForm(detail, onDone);
  if (kind === "split") return splitForm(detail, onDone);
  return answerForm(detail, onDone);
}

/** A form with its problem line; `send` returns a promise. */
function formOf(send, onDone, title, ...parts) {
  const problem = el("p", { class: "problem", role: "alert", hidden: true });
  const onsubmit = (event) => {
    event.preventDefault();
    problem.hidden = true;
    send(event.submitter).then(onDone, (error) => {
      problem.textContent = error.line ?? String(error);
      problem.hidden = false;
    });
  };
  return el("form", { class: "card questions", onsubmit }, el("h2", {}, title), ...parts, problem);
}

function answerForm(detail, onDone) {
  const typed = detail.how?.answers ?? {};
  const inputs = Object.fromEntries(detail.questions.map((question) => [question.id, inputOf(question, typed[question.id] ?? "")]));
  const send = () => post(`/api/flights/${detail.id}/again`, {
    suite: detail.how?.suite ?? null, answers: Object.fromEntries(Object.entries(inputs).map(([id, input]) => [id, input.value.trim()])),
  });
  const lines = detail.questions.map((question) => {
    const isWrong = detail.field === question.kind && detail.error;
    if (isWrong) inputs[question.id].setAttribute("aria-invalid", "true");
    return el("label", { class: "question" }, el("b", {}, question.words), seen(question.examples), inputs[question.id], question.kind === "zone" && zonesOf(question),
      isWrong && el("span", { class: "problem" }, [detail.error, detail.hint].filter(Boolean).join(". ")));
  });
  return formOf(send, onDone, lines.length === 1 ? "One question" : `${lines.length} questions`,
    el("div", { class: "question-grid" }, lines), el("div", { class: "row" }, el("button", { class: "primary" }, "Continue")));
}

/** Suggestions for the time zone: those that the files hint at, and this computer's. */
function zonesOf({ choices }) {
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return el("datalist", { id: "zones" }, [...choices, { value: here, words: "this computer's" }].map((zone) => option(zone.value, zone.words)));
}

/** A select for given answers; a text field with suggestions for a time zone or for names. */
function inputOf({ kind, choices }, typed) {
  if (kind === "names") return el("input", { required: true, value: typed, autocomplete: "off", spellcheck: "false", placeholder: "time, CO2 ppm, T" });
  if (kind === "zone") return el("input", { required: true, value: typed, list: "zones", autocomplete: "off", spellcheck: "false", placeholder: choices.map((c) => c.value).join(", ") });
  return el("select", { required: kind !== "unit" }, option("", "choose …", { selected: !typed }), choices.map((c) => option(c.value, c.words, { selected: c.value === typed })));
}

const goTo = async (flights) => { await listFlights(); location.hash = `#/flight/${flights[0].id}`; };

function splitForm(detail, onDone) {
  const [question] = detail.questions, at = question.choices[0].value.split(",").map(Number);
  const send = () => post(`/api/flights/${detail.id}/split`, { at }).then(goTo);
  return formOf(send, () => {}, "Several flights?", el("p", {}, question.words), el("p", { class: "note" }, "The files are kept as they are, and so is this entry."),
    el("div", { class: "row" }, el("button", { class: "primary" }, `Split into ${at.length + 1} flights`)));
}

/** The flights found in an upload, to be confirmed before they are read. */
function partsForm(detail, onDone) {
  const boxes = detail.parts.map((part) => el("input", { type: "checkbox", checked: part.checked, "aria-label": `Read ${part.name}` }));
  const names = Object.values(detail.files).map((file) => file.name);
  const button = el("button", { class: "primary" });
  const adapt = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    button.textContent = chosen === 1 ? "Read 1 flight" : `Read ${chosen} flights`;
    button.disabled = chosen === 0;
  };
  boxes.forEach((box) => box.addEventListener("change", adapt));
  adapt();
  const rows = detail.parts.map((part, i) => el("li", {}, el("label", { class: "check" }, boxes[i], el("span", {}, el("b", {}, part.name),
    el("span", { class: "note" }, [part.first ? `${day(part.first)} ${clock(part.first)}` : "time not known", part.first && duration((part.last - part.first) / 1000), `${count(part.rows)} rows`, part.what.join(", "),
      part.files.length > 1 && `${part.files.length} files`, part.beside.length > 0 && `with ${part.beside.length} calibration or suite file${part.beside.length > 1 ? "s" : ""}`].filter(Boolean).join(" · "))))));
  const send = async (submitter) => {
    if (submitter?.value === "one") { await post(`/api/flights/${detail.id}/again`, { suite: detail.how?.suite ?? null, zone: detail.zone, answers: { flights: "one" } }); return onDone(); }
    const made = await post(`/api/flights/${detail.id}/split`, { parts: boxes.flatMap((box, i) => (box.checked ? [i] : [])) });
    await remove(`/api/flights/${detail.id}`); // its files are linked to the new flights
    return goTo(made);
  };
  return formOf(send, () => {}, `${detail.parts.length} flights in ${names.length} files`,
    el("p", { class: "note" }, "Times of files without a time zone are shown as written. Calibration files and suites apply to all flights of their folder."),
    el("ul", { class: "parts" }, rows), el("div", { class: "row" }, button, el("button", { value: "one" }, "Read all as one flight")));
}
