// @ts-check
// A panel as a picture for papers and slides, as vectors (SVG) or pixels (PNG), in the light colours; also printed.

import { timeTicks, valueLabels, valueTicks } from "./axes.js";
import { colour, el, forgetColours } from "./dom.js";
import { isNumber } from "./format.js";
import { BAR, HATCHES, isTallFlag, LINES, TILE, svg } from "./styles.js";
import { zoneName } from "./zone.js";

const PICTURE_WIDE = 960, PICTURE_TALL = 360, LEFT_EDGE = 76, RIGHT_EDGE = 16, TOP_EDGE = 80, BOTTOM_EDGE = 56; // px
const SHARPER = 2; // pixels of a PNG per px
const NAMES = { raw: "raw", estimate: "estimate", band: "90 % interval", response: "noise-free reading", other: "compared with", truth: "truth", plume: "plume encounter" };

/** The SVG element of a chart as it is shown, titled with the name of the flight. */
export function picture(chart, title, flagKinds) {
  const { range, channel, shown, data } = chart, { isLog } = shown, values = chart.vertical();
  const right = PICTURE_WIDE - RIGHT_EDGE, bottom = PICTURE_TALL - BOTTOM_EDGE, scale = isLog ? Math.log : (v) => v;
  const x = (ms) => LEFT_EDGE + ((ms - range[0]) / (range[1] - range[0])) * (right - LEFT_EDGE);
  const y = (v) => bottom - ((scale(isLog ? Math.max(v, values[0] / 10) : v) - scale(values[0])) / (scale(values[1]) - scale(values[0]))) * (bottom - TOP_EDGE);
  const text = (words, at, more = {}) => svg("text", { x: at[0], y: at[1], fill: colour("soft"), "font-size": 12, ...more }, words);
  const kinds = [...new Set(data.flags.filter(([from, to]) => to >= range[0] && from <= range[1]).map((flag) => flag[2]))].sort();
  const clip = `clip-${channel.name.replace(/\W/g, "-")}`, { lines } = chart, { time } = shown.series, place = { x, y, right, bottom, clip };
  const isLate = (ms) => x(ms) > 0.7 * PICTURE_WIDE; // little room to its right
  return svg("svg", { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${PICTURE_WIDE} ${PICTURE_TALL}`, width: PICTURE_WIDE, height: PICTURE_TALL, "font-family": "system-ui, sans-serif", role: "img", "aria-label": `${title}: ${channel.name}` },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { x: LEFT_EDGE, y: TOP_EDGE - BAR - 2, width: right - LEFT_EDGE, height: bottom - TOP_EDGE + BAR + 2 })), kinds.map(hatchTile)),
    svg("rect", { width: PICTURE_WIDE, height: PICTURE_TALL, fill: colour("card") }),
    text([title, channel.long_name ? `${channel.name} (${channel.long_name})` : channel.name].join(": "), [LEFT_EDGE, 18], { fill: colour("ink"), "font-size": 15, "font-weight": 600 }),
    pictureLegend(chart, kinds, flagKinds, text),
    pictureAxes(chart, values, place, text),
    svg("g", { "clip-path": `url(#${clip})` }, pictureFlags(data.flags, range, kinds, place),
      lines.high && svg("path", { d: area(time, lines.low, lines.high, x, y), fill: colour("estimate"), "fill-opacity": 0.2 }),
      LINES.filter(({ key, role }) => role && lines[key]).map(({ key, role, width, dash }) => svg("path", { class: key, d: path(time, lines[key], x, y), fill: "none", stroke: colour(role), "stroke-width": width, "stroke-dasharray": dash?.join(" "), "stroke-linejoin": "round" })),
      shown.encounters.map(({ onset, end }) => svg("rect", { x: x(onset), y: TOP_EDGE - BAR - 2, width: Math.max(x(end) - x(onset), 3), height: BAR, fill: colour("plume") })),
      shown.marks.map(({ time: at, note }) => [svg("line", { x1: x(at), x2: x(at), y1: TOP_EDGE, y2: bottom, stroke: colour("ink"), "stroke-dasharray": "1 2" }), text(`⚑ ${note}`, [x(at) + (isLate(at) ? -4 : 4), TOP_EDGE + 12], { fill: colour("ink"), "text-anchor": isLate(at) ? "end" : "start" })])));
}

const hatchTile = (kind) => svg("pattern", { id: `hatch${kind}`, width: TILE, height: TILE, patternUnits: "userSpaceOnUse" }, svg("path", { d: HATCHES[kind].path, stroke: colour(`flag${kind}`), fill: "none", "stroke-width": 1.4 }));

function pictureLegend(chart, kinds, flagKinds, text) {
  const { lines } = chart, used = [...LINES.filter(({ key, role }) => role && key !== "unbounded" && lines[key]).map((l) => l.key), lines.high && "band", chart.shown.encounters.length && "plume"].filter(Boolean);
  const measure = el("canvas").getContext("2d");
  measure.font = "12px system-ui, sans-serif";
  let left = LEFT_EDGE, top = 30;
  const entry = (shape, words) => {
    const wide = 46 + measure.measureText(words).width;
    if (left + wide > PICTURE_WIDE) [left, top] = [LEFT_EDGE, top + 17];
    left += wide;
    return [svg("g", { transform: `translate(${left - wide} ${top})` }, shape), text(words, [left - wide + 30, top + 10])];
  };
  const box = (height, fill, more = {}) => svg("rect", { y: 12 - height, width: 24, height, fill, ...more });
  const shape = (key) => {
    const line = LINES.find((l) => l.key === key);
    if (key === "band") return box(12, colour("estimate"), { "fill-opacity": 0.2 });
    return line ? svg("line", { x2: 24, y1: 6, y2: 6, stroke: colour(key), "stroke-width": line.width, "stroke-dasharray": line.dash?.join(" ") }) : box(BAR, colour("plume"));
  };
  return [...used.map((key) => entry(shape(key), NAMES[key])), ...kinds.map((kind) => entry(box(12, `url(#hatch${kind})`), flagKinds[kind].split(" (")[0]))].flat();
}

function pictureAxes({ channel, range, shown: { isLog } }, values, { x, y, right, bottom }, text) {
  const rule = (x1, y1, x2, y2) => svg("line", { x1, y1, x2, y2, stroke: colour("line") }), { times, labels } = timeTicks(range, right - LEFT_EDGE), marks = valueTicks(values, isLog, 6), words = valueLabels(marks, isLog);
  return [
    times.map((ms, i) => [rule(x(ms), TOP_EDGE, x(ms), bottom), labels[i].split("\n").map((line, n) => text(line, [x(ms), bottom + 16 + 15 * n], { "text-anchor": "middle" }))]),
    marks.map((v, i) => [rule(LEFT_EDGE, y(v), right, y(v)), text(words[i], [LEFT_EDGE - 6, y(v) + 4], { "text-anchor": "end" })]),
    text(`${channel.name} [${channel.units}]`, [0, 0], { transform: `translate(14 ${(TOP_EDGE + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }),
    text(`time, ${zoneName(range[0])}`, [right, PICTURE_TALL - 8], { "text-anchor": "end" }),
  ].flat(3);
}

/** One path for all flags of a kind: a printer takes long for many hatched shapes. */
const pictureFlags = (all, range, kinds, { x, bottom }) => kinds.flatMap((kind) => {
  const mine = all.filter(([from, to, of]) => of === kind && to >= range[0] && from <= range[1]).map(([from, to, , , share]) => [Math.max(from, range[0]), Math.min(to, range[1]), share]);
  const boxes = (height, spans = mine) => spans.map(([from, to]) => `M${spot(x(from), bottom)}v${-height}h${Math.max(x(to) - x(from), 1).toFixed(1)}v${height}z`).join("");
  const fill = `url(#hatch${kind})`, tall = mine.filter(([, , share]) => isTallFlag(kind, share));
  return [svg("path", { d: boxes(bottom - TOP_EDGE, tall), fill, "fill-opacity": 0.35 }), svg("path", { d: boxes(HATCHES[kind].height), fill })];
});

const spot = (px, py) => `${px.toFixed(1)} ${py.toFixed(1)}`;

/** A line through the known values, broken where one is missing. */
function path(time, values, x, y) {
  let isDown = false;
  return time.map((t, i) => {
    const wasDown = isDown;
    isDown = isNumber(values[i]);
    return isDown ? `${wasDown ? "L" : "M"}${spot(x(t), y(values[i]))}` : "";
  }).join("");
}

/** The area between two lines, in pieces where a value is missing. */
function area(time, low, high, x, y) {
  const pieces = [[]];
  time.forEach((_, i) => { if (isNumber(low[i]) && isNumber(high[i])) pieces.at(-1).push(i); else if (pieces.at(-1).length) pieces.push([]); });
  return pieces.filter((p) => p.length > 1).map((p) => `M${p.map((i) => spot(x(time[i]), y(high[i]))).join("L")}L${p.reverse().map((i) => spot(x(time[i]), y(low[i]))).join("L")}Z`).join("");
}

/** Save a chart as "svg" or "png". */
export async function savePicture(chart, title, flagKinds, format) {
  const root = document.documentElement, { theme } = root.dataset;
  root.dataset.theme = "light";
  forgetColours();
  const drawing = new XMLSerializer().serializeToString(picture(chart, title, flagKinds));
  root.dataset.theme = theme;
  forgetColours();
  const vector = new Blob([drawing], { type: "image/svg+xml" });
  save(format === "svg" ? vector : await raster(vector), `${title} ${chart.channel.name}.${format}`);
}

async function raster(vector) {
  const image = new Image(), address = URL.createObjectURL(vector);
  image.src = address;
  await image.decode();
  const canvas = el("canvas", { width: SHARPER * PICTURE_WIDE, height: SHARPER * PICTURE_TALL });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

function save(blob, name) {
  const address = URL.createObjectURL(blob);
  el("a", { href: address, download: name.replace(/[^\w.+-]+/g, "_") }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
