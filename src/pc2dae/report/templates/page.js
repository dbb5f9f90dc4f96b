"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const figures = read("figures"), extra = read("extra");
  const root = document.documentElement, $ = (id) => document.getElementById(id);
  const colour = (name) => getComputedStyle(root).getPropertyValue("--" + name).trim();
  const merge = (a, b) => {
    for (const key in b) a[key] = b[key] && b[key].constructor === Object ? merge(a[key] || {}, b[key]) : b[key];
    return a;
  };

  // Colours live in the style sheet; a trace only says which role it plays.
  const flagScale = () => {
    const names = ["", "flag1", "flag2", "flag3", "flag4"];
    return names.flatMap((n, i) => [[i / 5, n ? colour(n) : "rgba(0,0,0,0)"], [(i + 1) / 5, n ? colour(n) : "rgba(0,0,0,0)"]]);
  };
  const dress = {
    raw: () => ({ line: { color: colour("raw"), width: 1 } }),
    edge: () => ({ line: { color: "rgba(0,0,0,0)", width: 0 } }),
    band: () => ({ line: { color: "rgba(0,0,0,0)", width: 0 }, fillcolor: colour("band") }),
    estimate: () => ({ line: { color: colour("estimate"), width: 2 } }),
    unbounded: () => ({ line: { color: colour("estimate"), width: 1, dash: "dot" } }),
    truth: () => ({ line: { color: colour("truth"), width: 1.3 } }),
    plume: () => ({ line: { color: colour("plume"), width: 5 } }),
    path: () => ({ line: { color: colour("path"), width: 1.5 } }),
    here: () => ({ marker: { size: 15, color: "rgba(0,0,0,0)", line: { color: colour("truth"), width: 3 } } }),
    flags: () => ({ colorscale: flagScale(), zmin: -0.5, zmax: 4.5 }),
  };
  const themed = (layout) => {
    const axis = () => ({ gridcolor: colour("line"), linecolor: colour("line"), zerolinecolor: colour("line"), tickfont: { color: colour("soft") } });
    const dressed = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
      font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("ink") },
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink") } } };
    for (const key of Object.keys(layout)) if (/^[xy]axis/.test(key)) dressed[key] = axis();
    if (layout.polar) dressed.polar = { bgcolor: "rgba(0,0,0,0)", radialaxis: axis(), angularaxis: axis() };
    return merge(structuredClone(layout), dressed);
  };
  const dressTrace = (trace) => {
    const role = trace.meta && trace.meta.role;
    return dress[role] ? merge(trace, dress[role]()) : trace;
  };

  const config = { displaylogo: false, responsive: true, displayModeBar: false, doubleClick: "reset" };
  const drawn = [];
  const draw = (figure) => {
    const div = $(figure.id);
    if (!div) return;
    const layout = themed(figure.layout);
    const touch = matchMedia("(pointer: coarse)").matches;
    if (innerWidth < 600 && figure.linked) layout.xaxis.nticks = 4;
    if (touch && figure.linked) layout.dragmode = false; // a finger scrolls the page; the plume buttons zoom
    Plotly.newPlot(div, figure.data.map(dressTrace), layout, config);
    drawn.push([div, figure]);
    if (figure.linked) {
      div.on("plotly_relayout", (change) => follow(div, change));
      div.on("plotly_doubleclick", () => goTo(-1));
      div.on("plotly_hover", (event) => here(event.points[0] && event.points[0].x));
    }
  };

  // One time axis for all panels, and the track shows the same stretch. What a person drags arrives as "xaxis.range[0]",
  // what setRange does as "xaxis.range": so panels that follow set off nothing themselves.
  const setRange = (range, except) => {
    for (const [div, figure] of drawn)
      if (figure.linked) Plotly.relayout(div, merge(div === except ? {} : { "xaxis.range": range.slice() }, fitted(div, figure, range)));
    paintTrack(range);
  };
  // The vertical range that shows what lies in the stretch.
  const fitted = (div, figure, range) => {
    if (range[0] === extra.span[0] && range[1] === extra.span[1]) return { "yaxis2.range": figure.layout.yaxis2.range.slice() };
    const from = milliseconds(range[0]), to = milliseconds(range[1]);
    let low = Infinity, high = -Infinity;
    for (const trace of div._fullData) {
      if (trace.yaxis !== "y2" || !trace.dx) continue;
      const start = milliseconds(trace.x0), size = trace.y.length;
      const first = Math.max(0, Math.ceil((from - start) / trace.dx)), last = Math.min(size - 1, Math.floor((to - start) / trace.dx));
      for (let i = first; i <= last; i++) { const y = trace.y[i]; if (y < low) low = y; if (y > high) high = y; }
    }
    if (!(high > low)) return {};
    return { "yaxis2.range": [low - 0.1 * (high - low), high + 0.12 * (high - low)] };
  };
  const follow = (div, change) => {
    if (change["xaxis.range[0]"]) setRange([change["xaxis.range[0]"], change["xaxis.range[1]"]], div);
  };

  const milliseconds = (text) => Date.parse(String(text).replace(" ", "T") + "Z");
  const track = () => drawn.find(([, figure]) => figure.id === "track");
  const here = (x) => {
    const t = track();
    if (!t || !x) return;
    const dots = t[0]._fullData[1], start = milliseconds(extra.span[0]);
    const i = Math.round((milliseconds(x) - start) / extra.step_ms / t[1].data[1].meta.step);
    Plotly.restyle(t[0], { x: [[dots.x[i]]], y: [[dots.y[i]]] }, [2]);
  };
  let shown = null;
  const paintTrack = (range) => {
    const t = track();
    if (!t || !extra.colours.length) return;
    shown = range || shown || extra.span;
    const choice = extra.colours[$("track-channel").value], step = extra.step_ms * t[1].data[1].meta.step;
    const start = milliseconds(extra.span[0]), from = milliseconds(shown[0]), to = milliseconds(shown[1]);
    const size = t[0]._fullData[1].x.length, sizes = new Array(size);
    for (let i = 0; i < size; i++) { const at = start + i * step; sizes[i] = at >= from && at <= to ? 7 : 0; }
    Plotly.restyle(t[0], {
      "marker.color": [choice.values], "marker.cmin": choice.low, "marker.cmax": choice.high, "marker.size": [sizes],
      "marker.line.width": 0, "marker.colorscale": "Viridis", "marker.reversescale": root.dataset.theme !== "dark",
      "marker.colorbar.title.text": choice.units,
    }, [1]);
  };
  const chooseChannel = (name) => {
    const index = extra.colours.findIndex((c) => c.name === name);
    if (index >= 0) { $("track-channel").value = index; paintTrack(); }
  };

  // From plume to plume.
  let at = -1;
  const pad = (time, seconds) => new Date(milliseconds(time) + 1000 * seconds).toISOString().slice(0, 23).replace("T", " ");
  const goTo = (index) => {
    const count = extra.plumes.length;
    at = index < 0 ? -1 : ((index % count) + count) % count;
    if (at < 0) setRange(extra.span, null);
    else setRange([pad(extra.plumes[at][0], -30), pad(extra.plumes[at][1], 30)], null);
    if (count) $("plume-name").textContent = at < 0 ? `${count} plumes` : `plume ${at + 1} of ${count}`;
  };
  const on = (id, act) => { const e = $(id); if (e) e.addEventListener(e.tagName === "SELECT" ? "change" : "click", act); };
  on("plume-next", () => goTo(at + 1));
  on("plume-previous", () => goTo(at < 0 ? extra.plumes.length - 1 : at - 1));
  on("plume-all", () => goTo(-1));
  on("track-channel", () => paintTrack());
  for (const button of document.querySelectorAll("[data-map]")) button.addEventListener("click", () => chooseChannel(button.dataset.map));
  for (const row of document.querySelectorAll("[data-plume]")) row.addEventListener("click", () => { goTo(+row.dataset.plume); location.hash = "signals"; });
  for (const select of document.querySelectorAll("select[data-shows]"))
    select.addEventListener("change", () => {
      for (const part of document.querySelectorAll(`[data-part="${select.dataset.shows}"]`)) part.hidden = part.dataset.value !== select.value;
    });

  for (const details of document.querySelectorAll("details"))
    details.addEventListener("toggle", () => { for (const [div] of drawn) if (details.contains(div)) Plotly.Plots.resize(div); });

  const setTheme = (theme) => {
    root.dataset.theme = theme;
    for (const [div, figure] of drawn) Plotly.react(div, figure.data.map(dressTrace), merge(themed(figure.layout), current(div)), config);
    paintTrack();
  };
  const current = (div) => div.layout.xaxis && div.layout.xaxis.type === "date" ? { xaxis: { range: div.layout.xaxis.range }, yaxis2: { range: div.layout.yaxis2.range } } : {};
  on("theme", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  let before = null;
  addEventListener("beforeprint", () => { before = root.dataset.theme; if (before === "dark") setTheme("light"); });
  addEventListener("afterprint", () => { if (before === "dark") setTheme("dark"); });

  // A few figures per turn, so that the page answers while it fills.
  const queue = figures.slice();
  const turn = () => {
    for (const figure of queue.splice(0, 3)) draw(figure);
    if (queue.length) setTimeout(turn, 0);
    else { if (extra.first) chooseChannel(extra.first); root.dataset.ready = "yes"; }
  };
  turn();
})();
