// The loss over time: the exact run, theory dashed, the plateau shaded, events as ticks, and a cursor that sets the moment.
import { h, s, mark, write, number, raised, time, explained } from "./marks.js";
import { frameAt } from "./state.js";

const WIDE = 680;
const TALL = 340;
const EDGE = { left: 58, right: 14, top: 16, bottom: 70 };
const GRID = ["grid", "labels"]; // layers
const LANES = { cross: 0, origin: 0, death: 0, fork: 0, hold: 1, release: 1 };
const KIND_NAMES = { cross: "crosses a kink", hold: "is held on a kink", release: "is released", death: "dies", origin: "passes through zero", fork: "passes a fork" };

export function createCurve({ moveTo }) {
  const layers = Object.fromEntries(["grid", "plateau", "level", "ghost", "theory", "events", "run", "cursor", "labels"].map((name) => [name, s("g", { class: name })]));
  const area = s("rect", { class: "area", x: EDGE.left, y: EDGE.top, width: WIDE - EDGE.left - EDGE.right, height: TALL - EDGE.top - EDGE.bottom + 26 });
  const svg = s("svg", { viewBox: `0 0 ${WIDE} ${TALL}`, role: "img" }, area, ...Object.values(layers));
  const legend = h("div", { class: "legend" });
  const log = h("input", { type: "checkbox", onchange: () => draw() });
  const title = h("span", { class: "what" }, "Loss");
  const scaleChoice = explained(h("label", {}, log, " log loss"), "Draw the loss on a logarithmic scale, where its end is seen.");
  const element = h("figure", { class: "curve" }, h("div", { class: "heading" }, title, legend, scaleChoice), svg);
  let view = { run: null };

  function show(next) {
    view = { ...view, ...next };
    draw();
  }

  // Only what theory says has changed.
  function tell(theory) {
    view.theory = theory;
    if (!view.run) return;
    for (const name of ["plateau", "level", "theory"]) layers[name].replaceChildren();
    drawTheory();
    drawLegend();
  }

  // Only the cursor moves while a run is played.
  function moveCursor(frame) {
    view.frame = frame;
    drawCursor();
  }

  function draw() {
    const { run } = view;
    for (const [name, layer] of Object.entries(layers)) if (!run || !GRID.includes(name)) layer.replaceChildren();
    if (!run) return;
    view.across = horizontal(run);
    view.up = vertical();
    const scales = JSON.stringify([run.far, view.across, view.up]);
    if (scales !== view.scales) drawGrid(); // it stays while something is dragged
    view.scales = scales;
    drawTheory();
    drawRuns();
    drawEvents();
    drawCursor();
    drawLegend();
    mark(svg, { "aria-label": `Loss of the exact run, from ${number(run.loss[0])} to ${number(run.loss[run.frames - 1])} at ${time(run.last, run.far)}` });
    scaleChoice.hidden = run.far;
    write(title, run.far ? "How far the loss has fallen, ln(1/L)" : "Loss");
  }

  function horizontal(run) {
    const first = run.far ? Math.min(0.1, run.state.until / 2) : run.state.until / 10 ** 3.5;
    const [low, high] = [Math.log10(first), Math.log10(run.state.until)];
    const width = WIDE - EDGE.left - EDGE.right;
    return { low, high, at: (clock) => EDGE.left + (width * Math.max(0, Math.min(1, (Math.log10(Math.max(clock, 1e-300)) - low) / (high - low)))) };
  }

  // Heights of a run: the loss, its logarithm, or for far runs the logarithm of ln(1/L).
  function heights(run) {
    if (run.far) return run.log_loss.map((value) => Math.log10(Math.max(1e-2, -value)));
    return log.checked ? run.loss.map((value) => Math.log10(Math.max(value, 1e-30))) : run.loss;
  }

  function vertical() {
    const logarithmic = log.checked || view.run.far;
    const all = [view.run, view.ghost].filter((run) => run && run.far === view.run.far).flatMap(heights);
    let [low, high] = [Math.min(...all), Math.max(...all)];
    if (!logarithmic) [low, high] = [0, Number((high * 1.08).toPrecision(3)) || 1];
    else [low, high] = [Math.floor(low - 0.05), Math.ceil(high + 0.05)];
    const height = TALL - EDGE.top - EDGE.bottom;
    return { low, high, logarithmic, at: (value) => EDGE.top + (height * (high - Math.max(low, Math.min(high, value)))) / (high - low || 1) };
  }

  function drawGrid() {
    const { across, up, run } = view;
    const bottom = TALL - EDGE.bottom;
    for (const name of GRID) layers[name].replaceChildren();
    for (let power = Math.ceil(across.low - 1e-9); power <= across.high + 1e-9; power++) {
      const x = across.at(10 ** power);
      layers.grid.append(s("path", { d: `M${x} ${EDGE.top}V${bottom}` }));
      if (!run.far || power % 2 === 0) layers.labels.append(label(x, bottom + 43, run.far ? farTick(power) : plainTick(power), x > WIDE - 60 && run.far ? "end" : "middle"));
    }
    layers.labels.append(label(WIDE - EDGE.right, TALL - 5, run.far ? "time t, log-log scale" : "time t, log scale", "end"));
    for (const value of ticks(up)) {
      const y = up.at(value);
      layers.grid.append(s("path", { d: `M${EDGE.left} ${y}H${WIDE - EDGE.right}` }));
      layers.labels.append(label(EDGE.left - 8, y + 5, up.logarithmic ? plainTick(value) : number(value, 2), "end"));
    }
  }

  function drawTheory() {
    const { theory, run, across, up } = view;
    if (run.linear_loss !== null && run.linear_loss > 1e-12) {
      const y = up.at(log.checked ? Math.log10(run.linear_loss) : run.linear_loss);
      layers.level.append(s("path", { d: `M${EDGE.left} ${y}H${WIDE - EDGE.right}` }));
      layers.level.append(label(WIDE - EDGE.right - 4, y - 6, "linear regression", "end"));
    }
    if (!theory) return;
    if (theory.plateau && theory.plateau.begins !== null && !run.far) {
      const [from, to] = [across.at(theory.plateau.begins), theory.plateau.ends === null ? WIDE - EDGE.right : across.at(theory.plateau.ends)];
      layers.plateau.append(s("rect", { x: from, y: EDGE.top, width: Math.max(0, to - from), height: TALL - EDGE.top - EDGE.bottom }));
      if (to - from > 60) layers.plateau.append(label((from + to) / 2, EDGE.top + 16, "plateau", "middle"));
    }
    if (theory.curve) {
      const values = theory.curve.loss.map((value) => (log.checked && value !== null ? Math.log10(Math.max(value, 1e-30)) : value));
      layers.theory.append(s("path", { class: theory.curve.mirrored ? "mirrored" : null, d: path(theory.curve.clock, values) }));
    }
  }

  function drawRuns() {
    const { run, ghost } = view;
    if (ghost && ghost.far === run.far) layers.ghost.append(s("path", { d: path(ghost.clock, heights(ghost)) }));
    layers.run.append(s("path", { d: path(run.clock, heights(run)) }));
  }

  function path(clock, values) {
    const { across, up } = view;
    let text = "";
    let drawing = false; // not where nothing is said
    clock.forEach((moment, k) => {
      const before = drawing;
      drawing = values[k] !== null && Number.isFinite(values[k]);
      if (drawing) text += `${before ? "L" : "M"}${across.at(moment ?? 0).toFixed(1)} ${up.at(values[k]).toFixed(1)}`;
    });
    return text;
  }

  function drawEvents() {
    const paths = {};
    const base = TALL - EDGE.bottom + 5;
    for (const [clock, , , kind] of view.run.events) {
      const top = base + 10 * LANES[kind];
      paths[kind] = `${paths[kind] ?? ""}M${view.across.at(clock).toFixed(1)} ${top}v8`;
    }
    for (const [kind, d] of Object.entries(paths)) layers.events.append(s("path", { class: kind, d }));
  }

  function drawCursor() {
    const { run, across, up, frame } = view;
    if (!run) return;
    const x = across.at(run.clock[frame] ?? 0);
    const y = up.at(heights(run)[frame]);
    layers.cursor.replaceChildren(s("path", { d: `M${x} ${EDGE.top}V${TALL - EDGE.bottom + 24}` }), s("circle", { cx: x, cy: y, r: 6 }));
  }

  function drawLegend() {
    const { theory, ghost, run } = view;
    const rows = [["run", "exact run", "The exact gradient flow of the network, kinks and all."]];
    if (theory?.curve && !run.far) {
      const sentence = theory.curve.mirrored ? "No theorem speaks of these data; this is the prediction for the same data with mirror images added." : `Predicted without training by ${theory.curve.theorem} (${theory.curve.source}).`;
      rows.push([theory.curve.mirrored ? "theory mirrored" : "theory", theory.curve.mirrored ? "if mirrored" : "theory", sentence]);
    }
    if (ghost) rows.push(["ghost", "kept run", "The run you kept for comparison."]);
    if (run.events.length) rows.push(["events", `${run.events.length} events`, eventSentence(run)]);
    const told = JSON.stringify(rows);
    if (told === view.told) return;
    view.told = told;
    legend.replaceChildren(...rows.map(([kind, text, sentence]) => explained(h("span", { class: `key ${kind}`, tabindex: 0 }, h("i", { "aria-hidden": "true" }), text), sentence)));
  }

  function eventSentence(run) {
    const counts = new Map();
    for (const [, , , kind] of run.events) counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return `Ticks under the curve, a neuron ${[...counts].map(([kind, count]) => `${KIND_NAMES[kind]}: ${count}`).join("; ")}. Each is located.`;
  }

  const scrub = (event) => {
    if (!view.run || (event.type === "pointermove" && !event.buttons)) return;
    const box = svg.getBoundingClientRect();
    const share = (((event.clientX - box.left) / box.width) * WIDE - EDGE.left) / (WIDE - EDGE.left - EDGE.right);
    const { low, high } = view.across;
    moveTo(share <= 0 ? 0 : frameAt(view.run, 10 ** (low + share * (high - low))));
  };
  svg.addEventListener("pointerdown", (event) => { svg.setPointerCapture(event.pointerId); scrub(event); });
  svg.addEventListener("pointermove", scrub);

  return { element, svg, show, tell, moveCursor };
}

function label(x, y, text, anchor) {
  return s("text", { x, y, "text-anchor": anchor }, text);
}

function ticks({ low, high, logarithmic }) {
  const rough = (high - low) / 4;
  const unit = logarithmic ? Math.max(1, Math.round(rough)) : niceStep(rough);
  const values = [];
  for (let value = Math.ceil(low / unit) * unit; value <= high + 1e-9; value += unit) values.push(Number(value.toPrecision(6)));
  return values;
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
}

function plainTick(power) {
  return power >= -2 && power <= 4 ? String(Number((10 ** power).toPrecision(1)).toLocaleString("en-US")) : `10${raised(power)}`;
}

function farTick(power) {
  return `10^${10 ** power < 1 ? Number((10 ** power).toPrecision(1)) : (10 ** power).toLocaleString("en-US")}`;
}
