// The report of a flight: its view, drawn from the data embedded in the page.

const { view, series, coarse, track, sensors } = JSON.parse($("data").textContent);
const signals = new Signals(() => { // all points only where they can be seen
  const { range, span, panels } = signals;
  panels.fine = range[1] - range[0] < (span[1] - span[0]) / 4 ? [series, null] : null;
});
signals.build(view);
signals.set({ view, layers: [coarse ?? series, null], track, title: document.title });

if (sensors.length) {
  const compared = new Sensors($("sensor-pairs"), { onHover: (ms) => signals.panels.point(ms, null) });
  compared.set(sensors);
  signals.onPoint = (ms) => compared.point(ms);
}
if (view.budget.length) $("budget-bars").append(budgetBars(view.budget));

const LOG = (u, low, high) => uPlot.rangeLog(low, high, 10, false);
const decades = (_u, values) => values.map((v) => (Math.abs(Math.log10(v) - Math.round(Math.log10(v))) < 1e-6 ? v : null));
const powers = (_u, values) => values.map((v) => (v === null ? "" : `10${[...String(Math.round(Math.log10(v)))].map((c) => SUPERSCRIPT[c]).join("")}`));

/** Power before and after; the dotted line is a quarter of the Nyquist frequency. */
function spectrum(channel, { frequency, raw, estimate }) {
  const plot = el("div", { class: "plot" }), axis = { stroke: () => colour("soft"), grid: { stroke: () => colour("line"), width: 1, filter: decades }, ticks: { show: false }, gap: 4 };
  const line = (role, width) => ({ stroke: () => colour(role), width, points: { show: false } });
  const corner = (u) => {
    const x = u.valToPos(125 / view.step_ms, "x", true), { ctx, bbox } = u, px = devicePixelRatio;
    ctx.save(); ctx.strokeStyle = colour("soft"); ctx.setLineDash([2 * px, 3 * px]); ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke(); ctx.restore();
  };
  const chart = () => new uPlot({
    width: plot.clientWidth, height: plot.clientHeight, legend: { show: false }, cursor: { show: false }, padding: [6, 8, 0, 0],
    scales: { x: { time: false, distr: 3, range: [frequency[0], frequency.at(-1)] }, y: { distr: 3, range: LOG } },
    axes: [{ ...axis, size: 22, space: 30, values: (_u, values) => values.map((v) => (v === null ? "" : `${v} Hz`)) }, { ...axis, size: 40, space: 26, values: powers }],
    series: [{}, line("raw", 1), line("estimate", 2)], hooks: { draw: [corner] },
  }, [frequency, raw, estimate], plot);
  let drawn = null;
  new ResizeObserver(() => { if (drawn) drawn.setSize({ width: plot.clientWidth, height: plot.clientHeight }); else if (plot.clientWidth) drawn = chart(); }).observe(plot);
  addEventListener("theme", () => drawn?.redraw());
  return el("div", { class: "card", "data-spectrum": channel.name }, el("div", { class: "row" }, el("h4", {}, channel.name), el("span", { class: "note push" }, channel.units)), plot);
}
if ($("spectra")) $("spectra-panels").append(...view.channels.filter((c) => view.spectra[c.name]).map((c) => spectrum(c, view.spectra[c.name])));

for (const row of document.querySelectorAll("[data-plume]")) row.addEventListener("click", () => signals.goToPlume(Number(row.dataset.plume), true));
document.documentElement.dataset.ready = "yes";
