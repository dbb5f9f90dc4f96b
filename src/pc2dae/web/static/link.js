// @ts-check
// The badge of the live link, in the header of every view: it follows the data, not the broker.

import { subscribe } from "./live_events.js";
import { $, el, fill, show } from "./view/dom.js";
import { duration } from "./view/format.js";

const WORDS = { waiting: "waiting for samples", good: "live", late: "late", silent: "no data" };
const KINDS = { waiting: "wait", good: "good", late: "wait", silent: "bad" };

/** @type {any} */
let live = null;
let receivedAt = 0, isStationLost = false, said = "";

/** Class and words of the link, for badges. @returns {{kind: string, words: string}} */
export function linkBadge() {
  if (isStationLost) return { kind: "wait", words: "station does not respond" };
  const { status, reason } = live?.link ?? { status: "off", reason: "" };
  if (status === "off") return { kind: "", words: "off" };
  if (live.state === "lost") return { kind: "bad", words: "broker lost" };
  if (live.state === "connecting") return live.message ? { kind: "bad", words: "no connection" } : { kind: "wait", words: "connecting" };
  if (live.mismatch) return { kind: "bad", words: "wrong suite" };
  return { kind: KINDS[status], words: status === "waiting" && reason.endsWith("ended") ? "flight ended" : WORDS[status] };
}

/** Age of the newest sample [s], now. */
export function sampleAge() {
  const age = live?.link?.age_s;
  return typeof age === "number" ? age + (performance.now() - receivedAt) / 1000 : null;
}

/** Whether values are too old to be believed. */
export const isStale = () => isStationLost || !["good", "late"].includes(live?.link?.status);

export const ageWords = (age) => (age < 10 ? `${age.toFixed(1)} s` : duration(age));

function draw() {
  const { kind, words } = linkBadge(), age = sampleAge(), badge = $("link");
  const speed = live?.replay?.state === "running" ? ` ${live.replay.speed} ×` : "", isReplay = Boolean(live?.is_replay);
  show(badge, isStationLost ? !badge.hidden : live !== null && live.link.status !== "off");
  badge.className = `badge link ${kind}${isReplay ? " replay" : ""}`;
  const parts = [isReplay && ["REPLAY"], isReplay && [speed, "wide"], isReplay && [" · ", "wide"], [words],
    age !== null && !isStationLost && [" · ", "wide"], age !== null && !isStationLost && [ageWords(age), isReplay ? "wide" : null]];
  fill(badge, el("span", {}, parts.filter(Boolean).map(([text, kind]) => el("span", { class: kind }, text))));
  const status = badge.hidden ? "" : `Live link: ${isReplay ? "replay, " : ""}${words}`;
  if (status !== said) $("link-status").textContent = said = status;
}

subscribe("state", (now) => { live = now; receivedAt = performance.now(); isStationLost = false; draw(); });
subscribe("lost", () => { isStationLost = true; draw(); });
setInterval(draw, 500);
