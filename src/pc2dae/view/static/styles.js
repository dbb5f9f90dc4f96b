// @ts-check
// How lines and flags are drawn on the screen, in pictures and in the legend: each is recognisable without its colour.

// Key of the data, role of the colour, width and dashes [px], in the order of drawing.
export const LINES = [
  { key: "raw", role: "raw", width: 1 },
  { key: "low" },
  { key: "high" },
  { key: "truth", role: "truth", width: 1.6, dash: [9, 3, 2, 3] },
  { key: "response", role: "response", width: 1.8, dash: [2, 3] },
  { key: "unbounded", role: "estimate", width: 1, dash: [1, 3] },
  { key: "estimate", role: "estimate", width: 2 },
  { key: "other", role: "other", width: 2, dash: [7, 4] },
];
export const TILE = 6; // px
// Kind of flag: height of its strip [px] and the hatch of one tile; without a usable measurement the whole panel is hatched.
export const HATCHES = {
  1: { height: 10, isTall: true, path: "M-1 7L7 -1M-1 1L1 -1M5 7L7 5" },
  2: { height: 10, isTall: true, path: "M-1 7L7 -1M-1 -1L7 7" },
  3: { height: 4, path: "M1 1h2v2h-2z" },
  4: { height: 7, path: "M2 0V6" },
};
/** Whether a stretch of flags is hatched over the whole height: not if most of its samples are good. */
export const isTallFlag = (kind, share) => Boolean(HATCHES[kind].isTall) && !(share < 0.5);
export const BAR = 6; // px, plumes at the top of a panel
const SVG = "http://www.w3.org/2000/svg";

/** An SVG element; looks are attributes, because the page's policy forbids inline styles. */
export function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(key, value);
  element.append(...children.flat(Infinity).filter(Boolean));
  return element;
}

/** The sign of a line, the band, a plume or a kind of flag in the legend, in colours of the style sheet. */
export function sign(role) {
  const line = LINES.find((l) => l.key === role), kind = /^flag(\d)$/.exec(role)?.[1];
  const box = (height, fill) => svg("rect", { x: 0, y: 12 - height, width: 24, height, fill });
  const hatch = () => [0, 1, 2, 3].flatMap((i) => [0, 1].map((j) => svg("path", { d: HATCHES[kind].path, transform: `translate(${TILE * i} ${TILE * j})`, stroke: `var(--${role})`, fill: "none", "stroke-width": 1.4 })));
  const drawn = line ? svg("line", { x1: 0, x2: 24, y1: 6, y2: 6, stroke: `var(--${role})`, "stroke-width": Math.max(line.width, 1.5), "stroke-dasharray": line.dash?.join(" ") })
    : kind ? hatch() : role === "plume" ? box(BAR, "var(--plume)") : box(12, "var(--band)");
  return svg("svg", { class: `k-${role}`, width: 24, height: 12, viewBox: "0 0 24 12", "aria-hidden": "true" }, drawn);
}
