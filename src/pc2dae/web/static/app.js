// @ts-check
// The page: which view is shown.

import { read } from "./address.js";
import "./alarms.js";
import { get } from "./api.js";
import { $, show } from "./view/dom.js";
import { followAddress } from "./flight.js";
import { flightsAtStart, isBusy, listFlights, markShown } from "./flights.js";
import { startLive, stopLive } from "./live.js";
import { startUpload } from "./upload.js";

/** `before` is the address that was left. */
async function route(before = "") {
  const { view, id } = read();
  const isLive = view === "live";
  show($("flight-view"), !isLive);
  show($("live-view"), isLive);
  document.body.dataset.view = isLive ? "live" : "flight";
  for (const [tab, is] of Object.entries({ "tab-flight": !isLive, "tab-live": isLive })) {
    if (is) $(tab).setAttribute("aria-current", "page");
    else $(tab).removeAttribute("aria-current");
  }
  if (isLive) {
    if (before.includes("#/flight/")) $("tab-flight").href = before.slice(before.indexOf("#")); // with its zoom
    markShown(null);
    return startLive();
  }
  stopLive();
  const shown = view === "flight" && id ? id : await flightsAtStart();
  if (shown) followAddress(shown);
}

/** The badge shows whether the station responds. */
async function heartbeat() {
  const badge = $("station");
  try {
    const health = await get("/health");
    $("version").textContent = `pc2dae ${health.version}`;
    const wasAway = badge.className === "badge bad";
    if (wasAway || isBusy()) listFlights();
    if (wasAway && document.body.dataset.view === "flight" && !$("title").textContent.trim()) route();
    badge.className = "badge good";
    badge.textContent = health.queued ? `station ready, ${health.queued} waiting` : "station ready";
  } catch {
    badge.className = "badge bad";
    badge.textContent = "station does not respond";
  }
  setTimeout(heartbeat, 4000);
}

$("skip").addEventListener("click", (event) => { event.preventDefault(); $("main").focus(); });
addEventListener("hashchange", (event) => route(event.oldURL));
startUpload();
route();
heartbeat();
