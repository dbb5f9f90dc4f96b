// @ts-check
// Fingers, mouse, wheel and keys on a panel.

const DRAG = 6; // px a pointer must move to count as a drag
const zoomFactor = (event) => (event.deltaY > 0 ? 1.25 : 0.8);

/** One finger (or a mouse with Shift) pans, two fingers zoom, Ctrl and the wheel zoom. */
export function gestures(chart) {
  const { over } = chart.plot, pointers = new Map();
  let held = null;
  const xs = () => [...pointers.values()].sort((a, b) => a - b).map((x) => x - over.getBoundingClientRect().left);
  const hold = () => { held = pointers.size ? { xs: xs(), range: chart.range.slice() } : null; };
  over.addEventListener("pointerdown", (event) => {
    if (event.pointerType !== "touch" && !event.shiftKey) return;
    if (event.pointerType !== "touch") over.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.clientX);
    hold();
  });
  over.addEventListener("pointermove", (event) => {
    if (!pointers.has(event.pointerId)) return;
    pointers.set(event.pointerId, event.clientX);
    const now = xs(), [from, to] = held.range, rate = (to - from) / over.clientWidth;
    if (now.length === 1 && Math.abs(now[0] - held.xs[0]) >= DRAG) chart.onRange([from, to].map((ms) => ms + (held.xs[0] - now[0]) * rate));
    if (now.length !== 2 || now[1] - now[0] < 10) return;
    const zoomed = (rate * (held.xs[1] - held.xs[0])) / (now[1] - now[0]), left = from + held.xs[0] * rate - now[0] * zoomed;
    chart.onRange([left, left + over.clientWidth * zoomed]);
  });
  for (const end of ["pointerup", "pointercancel"]) over.addEventListener(end, (event) => { if (pointers.delete(event.pointerId)) hold(); });
  over.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return; // without it the wheel scrolls the page
    event.preventDefault();
    zoomTime(chart, zoomFactor(event), chart.plot.posToVal(event.offsetX, "x"));
  }, { passive: false });
}

function zoomTime(chart, factor, at) {
  const [from, to] = chart.range;
  chart.onRange([at - (at - from) * factor, at + (to - at) * factor]);
}

/** On the vertical axis: drag to choose a range of values, wheel to zoom, double click for all. */
export function axisGestures(chart) {
  const { plot } = chart, { over } = plot, axis = document.createElement("div");
  axis.className = "y-axis";
  axis.title = "Drag or turn the wheel to zoom the values, double click for all";
  over.parentElement.append(axis);
  let start = null;
  const place = (event) => Math.min(Math.max(event.clientY - over.getBoundingClientRect().top, 0), over.clientHeight);
  const between = (event) => [start, place(event)].sort((a, b) => a - b);
  axis.addEventListener("pointerdown", (event) => { axis.setPointerCapture(event.pointerId); start = place(event); });
  axis.addEventListener("pointermove", (event) => {
    if (start === null) return;
    const [top, bottom] = between(event);
    plot.setSelect({ left: 0, width: over.clientWidth, top, height: bottom - top }, false);
  });
  axis.addEventListener("pointerup", (event) => {
    const [top, bottom] = start === null ? [0, 0] : between(event);
    start = null;
    plot.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    if (bottom - top >= DRAG) chart.onVertical([plot.posToVal(bottom, "y"), plot.posToVal(top, "y")]);
  });
  axis.addEventListener("pointercancel", () => { start = null; });
  axis.addEventListener("dblclick", () => chart.onVertical(null));
  axis.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = place(event), factor = zoomFactor(event);
    chart.onVertical([at + (over.clientHeight - at) * factor, at - at * factor].map((y) => plot.posToVal(y, "y")));
  }, { passive: false });
}

/** Arrows move the cursor and read the values there, plus and minus zoom around it, Home shows the whole flight. */
export function chartKeys(chart) {
  const move = (steps) => () => {
    const { series: { time } } = chart.shown, now = chart.at ?? chart.range[0];
    const at = time.findIndex((t) => t >= now), next = Math.min(Math.max((at < 0 ? chart.last : at) + steps, chart.first), chart.last);
    chart.onHover(time[next], null);
    chart.onRead(chart);
  };
  const middle = () => (chart.at >= chart.range[0] && chart.at <= chart.range[1] ? chart.at : (chart.range[0] + chart.range[1]) / 2);
  const zoom = (factor) => () => zoomTime(chart, factor, middle());
  chart.element.addEventListener("keydown", (event) => {
    if (!chart.plot || event.ctrlKey || event.metaKey || event.altKey) return;
    const steps = event.shiftKey ? Math.max(Math.round((chart.last - chart.first) / 20), 1) : 1;
    const act = {
      ArrowLeft: move(-steps), ArrowRight: move(steps), "+": zoom(0.7), "=": zoom(0.7), "-": zoom(1.4),
      Home: () => { chart.onVertical(null); chart.onRange(null); }, Escape: () => chart.onHover(null, null),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}
