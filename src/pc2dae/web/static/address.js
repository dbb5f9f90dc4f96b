// @ts-check
// The state of the page in its address: #/flight/ID?channels=a,b&from=MS&to=MS&run=ID&other=ID&compare=…&log=a,b&zone=local.
// Going back or forward in the browser's history fires "hashchange"; `write` itself fires nothing.

/** What the address says, all as text: view, id (of the flight) and every parameter that is set. @returns {Record<string, string>} */
export function read() {
  const [path, query = ""] = location.hash.slice(1).split("?"), [, view = "", id = ""] = path.split("/");
  return { ...Object.fromEntries(new URLSearchParams(query)), view, id };
}

/**
 * Change some of it; null removes a parameter. `isStep` adds an entry to the browser's history, otherwise the present one changes.
 * @param {Record<string, string | number | null | undefined>} changes
 */
export function write(changes, { isStep = false } = {}) {
  const { view, id, ...rest } = { ...read(), ...changes };
  const kept = Object.entries(rest).filter(([, value]) => value !== null && value !== undefined && value !== "").map(([key, value]) => [key, String(value)]);
  const query = new URLSearchParams(kept).toString().replaceAll("%2C", ",").replaceAll("%3A", ":").replaceAll("%7E", "~"), hash = `#/${[view, id].filter(Boolean).join("/")}${query && `?${query}`}`;
  if (hash === location.hash) return;
  if (isStep) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
}

/** A link that shows the same to others; without the access token that may stand in the address. */
export const link = () => location.origin + location.pathname + location.hash;
