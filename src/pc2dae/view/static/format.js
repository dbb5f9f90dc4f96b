// @ts-check
// Numbers, units and times, formatted as by pc2dae.view.formatting.

/** @type {Record<string, string>} */
const SUPERSCRIPT = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };
/** @type {Record<string, string>} */
const LETTERS = { ug: "µg", degC: "°C" };
const grouped = (text) => {
  const [whole, rest] = text.split(".");
  return whole.replace(/\B(?=(\d{3})+$)/g, "\u202f") + (rest ? "." + rest : "");
};
const fixed = (value, places) => grouped(value.toFixed(Math.min(places, 8))).replace("-", "−");

/** @type {(value: unknown) => value is number} */
export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export function number(value, digits = 3) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  return fixed(value, Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(value))), 0));
}

export function plusMinus(value, sigma) {
  if (!isNumber(value)) return "–";
  if (!isNumber(sigma) || sigma <= 0) return number(value);
  const places = Math.max(1 - Math.floor(Math.log10(sigma)), 0);
  return `${fixed(value, places)} ± ${fixed(sigma, places)}`;
}

export const percent = (share, digits = 1) => (isNumber(share) ? `${(100 * share).toFixed(digits)} %` : "–");
export const signed = (value) => (isNumber(value) ? (value < 0 ? "−" : "+") + Math.abs(value).toFixed(2) : "–");
export const count = (value) => (isNumber(value) ? grouped(String(Math.round(value))) : "–");
export const decimal = (value, places = 1) => (isNumber(value) ? fixed(value, Math.abs(value) >= 100 ? 0 : places).replace(/^−(0(\.0+)?)$/, "$1") : "–");

/** A number as the user typed it. */
export const exact = (value) => grouped(String(value)).replace("-", "−");

/** What a channel's estimate is of, by its attribute `target`. */
export const TARGETS = { ambient: "ambient, lag corrected", response: "response: noise-free reading" };

/** Round numbers on a scale, all in thousands where one is long: 5k, 10k. */
export function ticks(values) {
  const isLong = values.some((v) => Math.abs(v) >= 10_000);
  return values.map((v) => exact(Number((isLong ? v / 1000 : v).toPrecision(4))) + (isLong && v ? "k" : ""));
}

/** ng m⁻³ for "ng m-3". */
export function units(text) {
  return String(text ?? "").split(" ").map((part) => {
    const letters = part.replace(/[-0-9]+$/, "");
    return (LETTERS[letters] ?? letters) + [...part.slice(letters.length)].map((c) => SUPERSCRIPT[c] ?? c).join("");
  }).join(" ");
}

export function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 120) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** Hour, minute, second, UTC. */
export const clock = (ms) => new Date(ms).toISOString().slice(11, 19);
export const day = (ms) => new Date(ms).toISOString().slice(0, 10);
