// @ts-check
// A link to what is shown of a flight.

import { link } from "./address.js";
import { $, el, fill } from "./view/dom.js";

/** What the signals show as parameters of the address: `y` lists NAME~LOW~HIGH, `channels` is "-" for none. */
export const parametersOf = ({ range, step, vertical, channels, log, zone }) => ({
  from: range?.[0], to: range?.[1], plume: step < 0 ? null : step + 1, channels: channels && (channels.join(",") || "-"), log: log.join(","), zone: zone === "local" ? zone : null,
  y: vertical.map(([name, ends]) => [name, ...ends.map((v) => Number(v.toPrecision(5)))].join("~")).join(","),
});

/** The reverse; what the address does not name is left out or null. @param {Record<string, string>} parameters */
export function stateOf({ from, to, plume, channels, log, zone, y }) {
  const list = (text) => text?.split(",") ?? [], pairs = list(y).map((text) => text.split("~")).map(([name, ...ends]) => [name, ends.map(Number)]);
  return {
    range: Number(to) > Number(from) ? [Number(from), Number(to)] : null, step: Number(plume) >= 1 ? Math.floor(Number(plume)) - 1 : -1, vertical: pairs.filter(([, [low, high]]) => high > low),
    channels: channels ? list(channels) : null, log: list(log), zone,
  };
}

export const linkButton = () => [el("button", { type: "button", id: "copy-link", onclick: copyLink }, "Copy link"), el("span", { id: "link-said", class: "note", role: "status" })];

async function copyLink() {
  const said = $("link-said");
  try {
    await navigator.clipboard.writeText(link());
    said.textContent = "Link copied.";
  } catch { // only on this machine or over TLS may a page write to the clipboard
    const address = el("input", { readonly: true, value: link(), "aria-label": "Link to this view" });
    fill(said, "Copy it from here: ", address);
    address.select();
  }
}
