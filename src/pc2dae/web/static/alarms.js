// Thresholds per channel, stored on this computer, and alarms that remain until acknowledged.

import { $, el, fill } from "./view/dom.js";
import { clock, exact, number, units } from "./view/format.js";

const KEPT = "alarm-limits";

export class Alarms {
  /** `onSeen(name)` when an alarm is acknowledged. */
  constructor(onSeen) {
    this.onSeen = onSeen;
    this.active = new Map(); // name → {channel, since, until, peak, last}
    try { this.limits = JSON.parse(localStorage.getItem(KEPT)) ?? {}; } catch { this.limits = {}; }
  }

  limit(name) { return this.limits[name] ?? null; }
  isOver(name) { return this.active.has(name) && this.active.get(name).until === null; }

  setLimit(name, value) {
    if (value === null) { delete this.limits[name]; this.active.delete(name); } else this.limits[name] = value;
    try { localStorage.setItem(KEPT, JSON.stringify(this.limits)); } catch { /* a private window stores nothing */ }
    this.draw($("alarms"));
  }

  clear() { this.active.clear(); this.draw($("alarms")); }

  judge(channel, value, time) {
    const limit = this.limit(channel.name), known = this.active.get(channel.name);
    if (limit !== null && value > limit) {
      if (known) Object.assign(known, { last: value, peak: Math.max(known.peak, value), until: null });
      else {
        this.active.set(channel.name, { channel, since: time, until: null, peak: value, last: value });
        this.call(`Alarm: ${channel.name} is above ${exact(limit)} ${units(channel.units)}`);
      }
    } else if (known && known.until === null) known.until = time;
  }

  /** One line per alarm, shown until it is acknowledged. */
  draw(parent) {
    const lines = [...this.active.entries()].map(([name, a]) => {
      const unit = units(a.channel.units), limit = exact(this.limit(name));
      const isOver = a.until === null, since = clock(a.since);
      const words = isOver
        ? `${name} ${number(a.last)} ${unit}, above ${limit} since ${since} UTC`
        : `${name} was above ${limit} ${unit} from ${since} to ${clock(a.until)} UTC`;
      return el("div", { class: isOver ? "alarm is-over" : "alarm" },
        el("span", { "aria-hidden": "true" }, "⚠"), el("span", {}, `${words}, peak ${number(a.peak)}`),
        el("button", { type: "button", class: "push", onclick: () => { this.active.delete(name); this.draw(parent); this.onSeen(name); } }, "Acknowledge"));
    });
    if (lines.length || parent.children.length) fill(parent, lines);
    document.title = [...this.active.values()].some((a) => a.until === null) ? "⚠ ALARM · pc2dae" : document.title.replace("⚠ ALARM", "Live");
  }

  /** Sound and screen-reader announcement, once per alarm. */
  call(words) {
    $("announce").textContent = words;
    if (!$("sound").checked) return;
    const audio = new AudioContext(), tone = audio.createOscillator(), volume = audio.createGain();
    volume.gain.value = 0.2;
    tone.frequency.value = 880;
    tone.connect(volume).connect(audio.destination);
    tone.start();
    tone.stop(audio.currentTime + 0.6);
    tone.onended = () => audio.close();
  }
}
