// @ts-check
// One stream of server-sent events per page, shared by all views.

/** @type {Map<string, Set<(data: any) => void>>} */
const callbacks = new Map();
/** @type {EventSource | null} */
let source = null;

/**
 * Call back with the data of every event of a kind: "state", "estimate", "alarm", … as sent by /api/live/events;
 * "open" when the stream is (re)opened, "lost" when it breaks. Subscribe while modules load: past events are sent once.
 * @param {string} kind
 * @param {(data: any) => void} callback
 */
export function subscribe(kind, callback) {
  if (!callbacks.has(kind)) {
    callbacks.set(kind, new Set());
    if (source) listen(kind);
  }
  callbacks.get(kind)?.add(callback);
  if (!source) open();
}

/** EventSource reconnects by itself after a broken connection; after a refusal it must be reopened. */
function open() {
  const opened = new EventSource("/api/live/events");
  source = opened;
  for (const kind of callbacks.keys()) listen(kind);
  opened.onopen = () => send("open", null);
  opened.onerror = () => {
    send("lost", null);
    if (opened.readyState === EventSource.CLOSED) setTimeout(open, 1500);
  };
}

/** @param {string} kind */
function listen(kind) {
  if (kind === "open" || kind === "lost") return;
  source?.addEventListener(kind, (event) => send(kind, JSON.parse(event.data)));
}

/** @param {string} kind @param {any} data */
const send = (kind, data) => callbacks.get(kind)?.forEach((callback) => callback(data));
