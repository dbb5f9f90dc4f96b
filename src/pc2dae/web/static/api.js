// @ts-check
// Requests to the server. A refusal becomes a Problem: one line and a hint.

export class Problem extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
  get line() { return this.hint ? `${this.message}. ${this.hint}` : this.message; }
}

async function refusal(response) {
  const body = await response.json().catch(() => ({}));
  return new Problem(body.error || `unexpected status ${response.status}`, body.hint || "", response.status);
}

/** @param {string} path @param {{method?: string, body?: any, signal?: AbortSignal}} [options] @returns {Promise<any>} */
async function call(path, { method = "GET", body, signal } = {}) {
  const sends = body === undefined ? {} : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } };
  const response = await fetch(path, { method, signal, ...sends }).catch((error) => {
    if (error.name === "AbortError") throw error;
    throw new Problem("the station does not respond", "is pc2dae serve still running?");
  });
  if (response.status === 401) askForToken();
  if (!response.ok) throw await refusal(response);
  return response.status === 204 ? null : response.json();
}

// A path determines the types of what is sent and answered.
/** @type {<P extends Path<"get">>(path: P, signal?: AbortSignal) => Promise<Answer<"get", P>>} */
export const get = (path, signal) => call(path, { signal });
/** @type {<P extends Path<"post">>(path: P, body?: Sent<"post", P>) => Promise<Answer<"post", P>>} */
export const post = (path, body) => call(path, { method: "POST", body: body ?? {} });
/** @type {<P extends Path<"put">>(path: P, body: Sent<"put", P>) => Promise<Answer<"put", P>>} */
export const put = (path, body) => call(path, { method: "PUT", body });
/** @type {<P extends Path<"patch">>(path: P, body: Sent<"patch", P>) => Promise<Answer<"patch", P>>} */
export const patch = (path, body) => call(path, { method: "PATCH", body });
/** @type {<P extends Path<"delete">>(path: P) => Promise<Answer<"delete", P>>} */
export const remove = (path) => call(path, { method: "DELETE" });

/** A path with its query; null and empty values are omitted. To the type checker it is still the path.
 * @template {string} P @param {P} path @param {Record<string, any>} parameters @returns {P} */
export function query(path, parameters) {
  const kept = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return /** @type {P} */ (kept.length ? `${path}?${new URLSearchParams(kept)}` : path);
}

/** Send files with progress, which fetch does not report.
 * @param {{file: File, path: string}[]} files @param {Record<string, string>} fields @param {(share: number) => void} onProgress
 * @returns {Promise<Schemas["Accepted"]>} */
export function upload(files, fields, onProgress) {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) if (value) form.append(name, value);
  for (const { file, path } of files) form.append("files", file, path);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/flights");
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onload = () => {
      const answer = request.response || {};
      if (request.status < 300) resolve(answer);
      else reject(new Problem(answer.error || `unexpected status ${request.status}`, answer.hint || "", request.status));
    };
    request.onerror = () => reject(new Problem("the files could not be sent", "is pc2dae serve still running, and are they still there?"));
    request.send(form);
  });
}

const ENDED = ["done", "failed", "cancelled"];

/** Follow a job to its end, through restarts of the server; resolves with its last state.
 * @param {string} job @param {(state: Schemas["ServerJob"]) => void} onState @returns {Promise<Schemas["ServerJob"]>} */
export function follow(job, onState) {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/api/jobs/${job}/events`);
    let over = false;
    const end = (state) => { over = true; source.close(); resolve(state); };
    const take = (state) => {
      if (over) return;
      onState(state);
      if (ENDED.includes(state.state)) end(state);
    };
    const look = () => get(`/api/jobs/${job}`).then(take, (problem) => {
      if (problem.status) { over = true; source.close(); reject(problem); }
    });
    source.onmessage = (event) => take(JSON.parse(event.data));
    source.onerror = () => { if (!over) look().then(() => !over && source.readyState === EventSource.CLOSED && setTimeout(retry, 1000)); };
    const retry = () => { if (!over) look().then(() => !over && setTimeout(retry, 1000)); };
  });
}

let asked = false;
function askForToken() {
  if (asked) return;
  asked = true;
  const token = prompt("This station requires a token, printed where pc2dae serve was started.");
  if (token) location.assign(`/?token=${encodeURIComponent(token)}`);
}
