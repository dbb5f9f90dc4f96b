// @ts-check
// Map and height profile of a flight, coloured by one channel; both are linked with the panels.

import { ColourScale } from "./colours.js";
import { $, el, fill, option, show } from "./dom.js";
import { Profile } from "./profile.js";
import { Track } from "./track.js";

export const mapCard = () => el("aside", { id: "track-side", "aria-label": "Map and height profile" }, el("div", { class: "card" },
  el("div", { class: "row" }, el("h3", { id: "map-title" }),
    el("label", { id: "map-log" }, el("input", { type: "checkbox", id: "track-log" }), "log"),
    el("label", { class: "push" }, "channel ", el("select", { id: "track-channel" }))),
  el("div", { class: "map" }, el("div", { id: "track" }), el("div", { id: "profile" })), el("p", { class: "note", id: "map-note" })));

export class FlightMap {
  /** @type {any} */ hasMap;
  /** @type {any} */ hasProfile;
  /** @type {Schemas["TrackShown"] | null} */ track;
  /** @type {Schemas["FlightShown"]} */ view;
  /** `onChannel(name)`, `onHover(ms or null)`, `onPlume(index)`. */
  constructor({ onChannel, onHover, onPlume }) {
    this.map = new Track({ onHover, onPlume });
    this.profile = new Profile();
    $("track-channel").addEventListener("change", (event) => onChannel(event.target.value));
    $("track-log").addEventListener("change", () => this.draw(this.asked));
    const print = (is) => () => { $("track-side").classList.toggle("printing", is); if (this.asked) this.draw(this.asked); };
    addEventListener("beforeprint", print(true));
    addEventListener("afterprint", print(false));
  }

  build(view) { fill($("track-channel"), view.channels.map((c) => option(c.name, c.name))); }

  /** Another flight, or another run of it; `track` is null without position and height. */
  set(track, view) {
    const { profile, wind } = view, hasMap = Boolean(track?.east), hasProfile = Boolean(track?.altitude && profile);
    Object.assign(this, { track, view, hasMap, hasProfile });
    $("grid").classList.toggle("no-track", !hasMap && !hasProfile);
    show($("track-side"), hasMap || hasProfile);
    show($("track"), hasMap);
    show($("profile"), hasProfile);
    $("track-side").classList.toggle("only", !hasMap || !hasProfile);
    $("map-title").textContent = hasMap ? "Map" : "Height profile";
    const notes = [
      "dots: the time shown", hasMap && "outlined: plumes", hasProfile && `line, band: median, 10\u2060–\u206090\u00a0% per ${profile.depth}\u00a0m, whole flight`,
      hasMap && wind && `mean wind from ${origin(wind)}`,
    ];
    $("map-note").textContent = notes.filter(Boolean).join(" · ");
  }

  /** Colour by `channel`: its `series` over the range shown on the scale of the `whole` flight. */
  draw(asked) {
    this.asked = asked;
    const { channel, series, whole, range } = asked, { track, view } = this;
    if (!track || !series.channels[channel.name]) return;
    $("track-channel").value = channel.name;
    const of = ({ channels }) => channels[channel.name].estimate ?? channels[channel.name].raw, known = of(series);
    const values = track.time.map((t) => known[nearest(series.time, t)] ?? null), scale = new ColourScale(of(whole), $("track-log").checked);
    show($("map-log"), scale.isWide);
    const shown = { track, channel, values, scale, range, intervals: view.intervals, wind: view.wind, profile: view.profile };
    if (this.hasMap) this.map.draw(shown);
    if (this.hasProfile) this.profile.draw(shown);
  }

  /** Mark a time on both; null for none. */
  point(ms) {
    const i = ms === null || !this.track ? -1 : nearest(this.track.time, ms);
    if (this.hasMap) this.map.point(i);
    if (this.hasProfile) this.profile.point(i);
  }
}

/** Where a wind blows from: 225° (SW). */
function origin([east, north]) {
  const degrees = Math.round((Math.atan2(-east, -north) * 180) / Math.PI + 360) % 360;
  return `${degrees}° (${["N", "NE", "E", "SE", "S", "SW", "W", "NW"][Math.round(degrees / 45) % 8]})`;
}

function nearest(times, ms) {
  let low = 0, high = times.length - 1;
  while (high - low > 1) { const middle = (low + high) >> 1; if (times[middle] <= ms) low = middle; else high = middle; }
  return ms - times[low] <= times[high] - ms ? low : high;
}
