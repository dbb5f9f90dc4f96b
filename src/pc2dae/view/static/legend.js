// @ts-check
// The legend: lines can be hidden; flags are explained.

import { el } from "./dom.js";
import { sign } from "./styles.js";

/** Entries of the legend for the series `all` by channel; `panels` hides and shows lines. */
export function legendOf(all, view, panels, [method, other]) {
  const kinds = new Set(all.flatMap((c) => c.flags.map((flag) => flag[2])));
  const toggle = (role, words) => el("li", {}, el("button", {
    type: "button", class: "link", title: "Hide or show", "aria-pressed": String(!panels.hidden.has(role)),
    onclick: (event) => { panels.toggle(role); event.currentTarget.setAttribute("aria-pressed", String(!panels.hidden.has(role))); },
  }, sign(role), el("span", {}, words)));
  const kind = all.some((c) => c.response) ? " of the air (ambient) or of the reading (response)" : "";
  return [
    toggle("raw", "raw"),
    all.some((c) => c.estimate) && toggle("estimate", `estimate${kind}${method ? `: ${method}` : ""} (dotted: before the bound)`),
    all.some((c) => c.high) && toggle("band", "90 % interval"),
    all.some((c) => c.response) && toggle("response", "noise-free reading, with the sensor's lag"),
    other && toggle("other", `compared with: ${other}`),
    all.some((c) => c.truth) && toggle("truth", "truth of the simulation"),
    el("li", {}, sign("plume"), "plume encounter"),
    ...Object.entries(view.flag_kinds).filter(([number]) => kinds.has(Number(number))).map(([number, words]) => el("li", { title: words }, sign(`flag${number}`), words.split(" (")[0])),
  ];
}

/** What the flags of this flight mean and what was done with such samples. */
export function flagHelp(all, view) {
  const kinds = new Map(all.flatMap((c) => c.flags.flatMap(([, , kind, names]) => names.split(", ").map((name) => [name, kind]))));
  const known = Object.entries(view.flag_words).filter(([name]) => kinds.has(name));
  if (!known.length) return null;
  return el("details", { id: "flag-help" }, el("summary", {}, "What the flags mean"),
    el("dl", { class: "flag-words" }, known.flatMap(([name, words]) => [el("dt", {}, sign(`flag${kinds.get(name)}`), name), el("dd", {}, words)])));
}
