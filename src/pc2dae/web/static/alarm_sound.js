// @ts-check
// Sound and speech of alarms; the choice is remembered on this computer.

const KEPT = "alarm-sound";
const settings = { sound: true, volume: 0.5, speech: false };
try { Object.assign(settings, JSON.parse(localStorage.getItem(KEPT) ?? "{}")); } catch { /* a private window stores nothing */ }

/** @type {AudioContext | null} */
let audio = null;
/** @type {() => void} */
let onChange = () => {};

/** Call back when a browser starts or stops blocking sound. @param {() => void} callback */
export function watchSound(callback) { onChange = callback; }

export const soundSettings = () => ({ ...settings });

/** @param {Partial<typeof settings>} changes */
export function setSound(changes) {
  Object.assign(settings, changes);
  try { localStorage.setItem(KEPT, JSON.stringify(settings)); } catch { /* as above */ }
  onChange();
}

function context() {
  if (!audio) {
    audio = new AudioContext();
    audio.onstatechange = () => onChange();
  }
  return audio;
}

/** Whether sound is wanted, but the browser plays none until the page is clicked. */
export const isBlocked = () => settings.sound && context().state !== "running";

/** To be called for a click or a key: only then may a page start to play. */
export function allowSound() {
  if (isBlocked()) context().resume().then(onChange, () => {});
}

/** Two tones; low for missing data. @param {boolean} isLow */
export function beep(isLow) {
  if (!settings.sound || isBlocked()) return;
  const now = context().currentTime;
  for (const [start, hertz] of isLow ? [[0, 440], [0.3, 330]] : [[0, 880], [0.3, 1175]]) {
    const tone = context().createOscillator(), volume = context().createGain();
    tone.frequency.value = hertz;
    volume.gain.value = settings.volume;
    tone.connect(volume).connect(context().destination);
    tone.start(now + start);
    tone.stop(now + start + 0.22);
  }
}

/** @param {string} words */
export function speak(words) {
  if (!settings.speech || !("speechSynthesis" in window)) return;
  const spoken = new SpeechSynthesisUtterance(words);
  spoken.lang = "en";
  spoken.volume = settings.volume;
  speechSynthesis.speak(spoken);
}
