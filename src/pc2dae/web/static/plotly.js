// plotly.js is large: it is fetched once the page is painted, and everything that draws waits here.

import { colour } from "./dom.js";

let loading = null;

export function plotly() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/static/plotly.min.js";
    script.onload = () => resolve(window.Plotly);
    script.onerror = () => { loading = null; script.remove(); reject(new Error("plotly.js could not be loaded")); };
    requestAnimationFrame(() => setTimeout(() => document.head.append(script)));
  });
  return loading;
}

export const CONFIG = { displaylogo: false, responsive: true, displayModeBar: false, doubleClick: false };

export const axis = () => ({ gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), tickfont: { color: colour("soft") } });

export const paper = () => ({
  paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", showlegend: false,
  font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink") },
  hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink"), size: 13 } },
});

/** plotly reads a few tags in its texts: what comes from outside must not look like one. */
export const plain = (text) => String(text).replace(/[<>&]/g, (c) => ({ "<": "‹", ">": "›", "&": "+" })[c]);
