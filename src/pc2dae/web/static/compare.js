// @ts-check
// What a flight is compared with: another run (two lines, difference, flip), its duplicate sensors, another flight.

import { read, write } from "./address.js";
import { get, query } from "./api.js";
import { besideFlight } from "./beside.js";
import { Differences } from "./difference.js";
import { listFlights } from "./flights.js";
import { $, el, fill, option, show } from "./view/dom.js";
import { day } from "./view/format.js";
import { nameOfPair, Sensors } from "./view/sensors.js";

const HOLD_MS = 350; // a shorter press changes what is shown until the next one
const KEY = "c";

export class Compare {
  /** @type {any} */ differences;
  /** @type {import("./view/signals.js").Signals} */ signals;
  constructor(signals) {
    Object.assign(this, { signals, of: null, isFlipped: false, differences: new Differences(signals) });
    this.sensors = new Sensors($("sensor-pairs"), { onHover: (ms) => signals.panels.point(ms, null), onPair: (pair) => this.note(`scatter:${nameOfPair(this.sensors.pairs, pair)}`) });
    signals.onPoint = (ms) => { this.sensors.point(ms); this.differences.point(ms); };
    this.flipped = el("button", { type: "button", class: "flip", hidden: true, title: "Hold or press, or the key C" });
    this.said = el("span", { class: "unseen", role: "status" });
    document.querySelector(".timeline .row").prepend(this.flipped, this.said);
    $("compare-mode").addEventListener("change", () => {
      this.note(this.mode);
      this.apply();
      if (this.mode === "toggle") this.flipped.focus({ preventScroll: true }); // the key C would choose an entry of the list
    });
    $("beside-flight").addEventListener("change", (event) => { this.note(event.target.value && `flight:${event.target.value}`); this.showBeside(event.target.value); });
    this.pressed();
  }

  /** Show what the address says, after going back or forward in the browser's history. */
  restore() {
    const wanted = read().compare ?? "", mode = ["difference", "toggle"].includes(wanted) ? wanted : "";
    if (mode === this.mode) return;
    $("compare-mode").value = mode;
    this.apply();
  }

  get mode() { return $("compare-mode").value; }

  note(value) { write({ view: "flight", id: this.of.detail.id, compare: value || null }); }

  /** Another flight, run or run to compare with: {detail, run, other, names}. */
  async set(of) {
    const isNew = this.of?.detail.id !== of.detail.id, wanted = read().compare ?? "", [kind, name = ""] = wanted.split(/:(.*)/s);
    this.of = of;
    this.isFlipped = false;
    show($("shown-as"), Boolean(of.other));
    if (isNew) $("compare-mode").value = ["difference", "toggle"].includes(wanted) ? wanted : "";
    this.apply();
    const pairs = await get(query(`/api/flights/${of.detail.id}/sensors`, { run: of.run?.id })).catch(() => []);
    if (this.of !== of) return;
    show($("sensors"), pairs.length > 0);
    this.sensors.set(pairs, kind === "scatter" ? name : "");
    if (!isNew) return;
    await this.listOthers(kind === "flight" ? name : "");
    if (kind === "scatter" && pairs.length) $("sensors").scrollIntoView();
    if (kind === "flight" && $("beside-flight").value) { await this.showBeside(name); $("beside").scrollIntoView(); }
  }

  // Two runs.
  apply() {
    const { of, signals } = this, mode = of.other ? this.mode : "", isToggle = mode === "toggle";
    this.differences.set(mode === "difference" ? { flight: of.detail.id, ...of } : null);
    show(this.flipped, isToggle);
    signals.panels.setHidden("other", Boolean(mode));
    this.flip(false);
  }

  /** Show the estimate of the other run in all panels, or that of the run again; both are loaded already. */
  flip(isFlipped = !this.isFlipped) {
    this.isFlipped = isFlipped;
    const { signals, of } = this, [run, other] = of.names, isToggle = !this.flipped.hidden, name = isFlipped ? other : run;
    signals.panels.setSwapped(isFlipped, name);
    signals.setLegend(of.other && this.mode ? [name] : of.names, isFlipped ? 1 : 0);
    fill(this.flipped, "⇄ Shown: ", el("b", {}, name ?? ""));
    this.flipped.dataset.shown = isFlipped ? "other" : "run";
    this.said.textContent = isToggle ? `Shown: ${name}` : "";
  }

  /** The range or the panels in view have changed. */
  changed() { this.differences.update(); }

  /** A key or the button: a short press flips, a long one flips while it is held. */
  pressed() {
    let since = null;
    const down = ({ timeStamp }) => { since = timeStamp; this.flip(); };
    const up = ({ timeStamp }) => { if (since !== null && timeStamp - since > HOLD_MS) this.flip(); since = null; };
    const isMine = (event) => event.key.toLowerCase() === KEY && !event.ctrlKey && !event.metaKey && !event.altKey && !this.flipped.hidden && !event.target.closest?.("input, select, textarea");
    addEventListener("keydown", (event) => { if (isMine(event) && !event.repeat) down(event); });
    addEventListener("keyup", (event) => { if (event.key.toLowerCase() === KEY) up(event); });
    this.flipped.addEventListener("pointerdown", down);
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) this.flipped.addEventListener(end, up);
    this.flipped.addEventListener("click", (event) => { if (event.detail === 0) this.flip(); }); // by Enter or Space
  }

  // Two flights.
  async listOthers(chosen) {
    const { id } = this.of.detail, others = (await listFlights()).filter((f) => f.id !== id && f.state === "ready");
    fill($("beside-flight"), option("", others.length ? "choose a flight" : "no other flight"), others.map((f) => option(f.id, `${f.name}, ${day(f.start ?? f.created)}`, { selected: f.id === chosen })));
    fill($("beside-tables"), []);
  }

  async showBeside(other) {
    show($("beside-problem"), false);
    fill($("beside-tables"), []);
    if (!other) return;
    await besideFlight($("beside-tables"), this.of.detail.id, other).catch((problem) => {
      $("beside-problem").textContent = problem.line ?? String(problem);
      show($("beside-problem"), true);
    });
  }
}
