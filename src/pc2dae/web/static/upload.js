// @ts-check
// Upload of a flight: by drag and drop of files or folders, or by the buttons.

import { get, upload } from "./api.js";
import { $, option, show } from "./view/dom.js";
import { listFlights } from "./flights.js";

const MOST = 2000; // files in one upload: a folder dropped by mistake is refused before it is read

export function startUpload() {
  $("choose-files").addEventListener("click", () => $("files").click());
  $("choose-folder").addEventListener("click", () => $("folder").click());
  for (const id of ["files", "folder"])
    $(id).addEventListener("change", (event) => {
      send([...event.target.files].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
      event.target.value = "";
    });
  $("drop").addEventListener("submit", (event) => event.preventDefault());
  let depth = 0;
  const veil = (by) => { depth = by === 0 ? 0 : depth + by; show($("veil"), depth > 0); };
  const hasFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes("Files");
  addEventListener("dragenter", (event) => hasFiles(event) && veil(1));
  addEventListener("dragleave", (event) => hasFiles(event) && veil(-1));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    veil(0);
    send(await dropped(event.dataTransfer));
  });
  get("/api/suites").then((suites) => $("suite").append(...suites.map((suite) => option(suite.name, suite.name))), () => {});
}

/** All files of a drop with their paths, folders opened; entries must be taken before the first await. */
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  const found = [];
  for (const entry of entries) await walk(entry, found);
  return found;
}

async function walk(entry, found) {
  if (found.length > MOST || entry.name.startsWith(".")) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push({ file, path: entry.fullPath.replace(/^\//, "") });
    return;
  }
  const reader = entry.createReader();
  for (;;) { // a reader returns at most a hundred entries at a time
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const one of some) await walk(one, found);
  }
}

const complain = (words) => { $("drop-problem").textContent = words; show($("drop-problem"), Boolean(words)); };

/** A folder or a single file has a name; several files are named after the time of upload. */
function nameOf(files) {
  if (files.length === 1 || files[0].path.includes("/")) return "";
  return `${files.length} files dropped at ${new Date().toTimeString().slice(0, 5)}`;
}

async function send(files) {
  complain("");
  if (!files.length) return complain("No file found.");
  if (files.length > MOST) return complain(`That is more than ${MOST} files. Drop fewer.`);
  const name = files.length === 1 ? files[0].path : `${files.length} files`;
  const buttons = [$("choose-files"), $("choose-folder")];
  buttons.forEach((button) => { button.disabled = true; });
  $("sent").value = 0;
  $("sent-words").textContent = `Sending ${name}`;
  show($("sending"), true);
  try {
    const fields = { suite: $("suite").value, zone: $("zone").value.trim(), name: nameOf(files), several: files.length > 1 ? "ask" : "" };
    const answer = await upload(files, fields, (share) => { $("sent").value = share; });
    await listFlights();
    location.hash = `#/flight/${answer.flight.id ?? answer.flight}`;
  } catch (problem) {
    complain(problem.line ?? String(problem));
  }
  show($("sending"), false);
  buttons.forEach((button) => { button.disabled = false; });
}
