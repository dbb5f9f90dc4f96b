// @ts-check
// Drawing on a canvas, sharp on any screen.

import { isNumber } from "./format.js";

/** The canvas cleared and scaled to the screen: [context, width, height] in CSS pixels. */
export function cleared(canvas) {
  const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  g.lineJoin = "round";
  g.font = `12px ${getComputedStyle(document.body).fontFamily}`;
  return [g, width, height];
}

/** A line through the known values, broken where one is missing. */
export function line(g, xs, ys, { stroke, width = 1, dash = [] }) {
  g.strokeStyle = stroke;
  g.lineWidth = width;
  g.setLineDash(dash);
  g.beginPath();
  let isDown = false;
  for (let i = 0; i < xs.length; i++) {
    if (!isNumber(ys[i])) { isDown = false; continue; }
    if (isDown) g.lineTo(xs[i], ys[i]);
    else g.moveTo(xs[i], ys[i]);
    isDown = true;
  }
  g.stroke();
  g.setLineDash([]);
}

/** The area between two lines, in pieces where a value is missing. */
export function band(g, xs, lows, highs, fillStyle) {
  g.fillStyle = fillStyle;
  let piece = [];
  const close = () => {
    if (piece.length > 1) {
      g.beginPath();
      for (const i of piece) g.lineTo(xs[i], highs[i]);
      for (const i of piece.reverse()) g.lineTo(xs[i], lows[i]);
      g.fill();
    }
    piece = [];
  };
  for (let i = 0; i < xs.length; i++) {
    if (isNumber(lows[i]) && isNumber(highs[i])) piece.push(i);
    else close();
  }
  close();
}

/** About `count` round values from low to high. */
export function roundValues(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough * 0.65) ?? power;
  const found = [];
  for (let n = Math.ceil(low / step); n * step <= high; n++) found.push(n * step);
  return found;
}
