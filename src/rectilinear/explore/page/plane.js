// The plane: output field, kinks, neurons, and points that can be dragged.
import { h, s, mark, write, number, explained } from "./marks.js";
import { heldAt, output, profile } from "./state.js";

const SIZE = 600;
const MIDDLE = SIZE / 2;
const PIXELS = 300; // of the painted field, each way
const ANGLES = 1440;
const REACH = 0.66; // of the half width that the longest neuron takes
const NEAR = 14; // pixels within which a neuron is under the cursor
const STEP = 0.05;
const HINT = "Drag a point: the whole training run follows.";
const KEYS = [
  ["plus", "M1 10H17M13 5L21 10L13 15Z", "neuron +", "A neuron with a positive outgoing weight: the arrow is its incoming weights w (length: cube root of |w|), and it raises the output where w·x > 0."],
  ["minus", "M1 10H13M13 5L21 10L13 15Z", "neuron −", "A neuron with a negative outgoing weight: it lowers the output where w·x > 0."],
  ["ring", "M11 3a7 7 0 1 0 .01 0Z", "held", "A neuron held on a kink: both sides push it there, so it can only move along it."],
  ["kink", "M1 10H22", "kink", "The line w·x = 0 of a data point: a neuron that crosses it switches that point on or off."],
  ["border", "M1 10H22", "boundary", "Where the output changes its sign."],
];
const TOOLS = {
  move: ["Move", "✥", "Drag points; arrow keys move the focused one, with Shift in small steps."],
  add: ["Add", "+", "Click the plane to add a point there (or double-click with any tool; N on the keyboard)."],
  flip: ["Flip", "±", "Click a point to turn its label round (or press F on it)."],
  remove: ["Delete", "×", "Click a point to take it away (or press Delete on it)."],
};

export function createPlane({ change, select }) {
  const canvas = h("canvas", { width: PIXELS, height: PIXELS, "aria-hidden": "true" });
  const layers = Object.fromEntries(["kinks", "boundary", "ghost", "neurons", "rings", "points"].map((name) => [name, s("g", { class: name })]));
  const axes = s("path", { class: "axes", d: `M0 ${MIDDLE}H${SIZE}M${MIDDLE} 0V${SIZE}` });
  const svg = s("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, role: "group", "aria-label": "The plane of inputs: data points, neurons and kinks" }, axes, ...Object.values(layers));
  const reading = h("figcaption", { class: "reading" }, HINT);
  const tools = h("div", { class: "tools", role: "radiogroup", "aria-label": "What a click does" });
  const element = h("figure", { class: "plane" }, h("div", { class: "square" }, canvas, svg), planeKeys(), h("div", { class: "under" }, tools, reading));
  const view = { tool: "move", range: 2, points: [], run: null, frame: 0, live: true, selected: null, dragged: null };
  const pixels = polarPixels();
  const image = new ImageData(PIXELS, PIXELS);

  for (const [name, [label, sign, sentence]] of Object.entries(TOOLS)) {
    const button = h("button", { type: "button", role: "radio", "aria-checked": name === "move", "data-tool": name, onclick: () => choose(name) }, h("span", { "aria-hidden": "true" }, sign), ` ${label}`);
    tools.append(explained(button, sentence));
  }

  function choose(tool) {
    view.tool = tool;
    element.dataset.tool = tool;
    for (const button of tools.children) button.setAttribute("aria-checked", button.dataset.tool === tool);
  }

  const toPixels = (value, sign) => MIDDLE + (sign * value * MIDDLE) / view.range;
  function toPlane(event, box = svg.getBoundingClientRect()) {
    const round = (value) => Math.round(value * 1000) / 1000;
    return [round((((event.clientX - box.left) / box.width) * 2 - 1) * view.range), round((1 - ((event.clientY - box.top) / box.height) * 2) * view.range)];
  }

  // While a point is dragged, what its run has not changed yet is not drawn again.
  function show({ points, run, ghost, frame, live }) {
    const same = view.dragged !== null && run === view.run && ghost === view.ghost && frame === view.frame;
    Object.assign(view, { points, run, ghost, frame, live });
    if (view.dragged === null) view.range = rangeOf(points);
    drawKinks();
    if (!same) {
      paintField();
      drawNeurons(layers.neurons, run, true);
      drawNeurons(layers.ghost, ghost, false);
      drawRings();
    }
    drawPoints();
  }

  function paintField() {
    const context = canvas.getContext("2d");
    if (!view.run) {
      context.clearRect(0, 0, PIXELS, PIXELS);
      layers.boundary.replaceChildren();
      return;
    }
    const values = profile(view.run, view.frame, ANGLES);
    const labels = Math.max(1e-12, ...view.points.map((point) => Math.abs(point[2])));
    const largest = view.run.far ? Math.max(labels, Math.max(...values.map(Math.abs)) * view.range) : labels; // far margins grow for ever
    const colours = palette(element);
    const data = new Uint32Array(image.data.buffer);
    const scale = view.range / largest;
    for (let k = 0; k < data.length; k++) {
      const value = values[pixels.angle[k]] * pixels.radius[k] * scale;
      data[k] = colours[Math.round(128 + 127 * Math.max(-1, Math.min(1, value / (0.35 + Math.abs(value)))))];
    }
    context.putImageData(image, 0, 0);
    drawBoundary(values);
  }

  function drawBoundary(values) {
    let path = "";
    const size = Math.max(...values.map(Math.abs));
    for (let k = 0; k < ANGLES; k++) {
      const [a, b] = [values[k], values[(k + 1) % ANGLES]];
      if (a * b >= 0 || Math.max(Math.abs(a), Math.abs(b)) < 1e-9 * size) continue;
      const angle = ((k + a / (a - b)) * 2 * Math.PI) / ANGLES;
      path += `M${MIDDLE} ${MIDDLE}l${(Math.cos(angle) * SIZE).toFixed(1)} ${(-Math.sin(angle) * SIZE).toFixed(1)}`;
    }
    layers.boundary.replaceChildren(s("path", { d: path }));
  }

  function drawKinks() {
    const held = view.run && !view.run.deep ? heldAt(view.run, view.frame) : [];
    const lines = [];
    for (const [x1, x2] of view.points) {
      const length = Math.hypot(x1, x2);
      if (!length) continue;
      const normal = [x1 / length, x2 / length];
      if (lines.some((known) => Math.abs(known[0] * normal[1] - known[1] * normal[0]) < 1e-6)) continue;
      lines.push(normal);
    }
    layers.kinks.replaceChildren(
      ...lines.map((normal) => {
        const busy = held.some(({ kink }) => kink && Math.abs(kink[0] * normal[1] - kink[1] * normal[0]) < 1e-3);
        const [dx, dy] = [normal[1] * SIZE, normal[0] * SIZE];
        return s("path", { class: busy ? "held" : null, d: `M${MIDDLE - dx} ${MIDDLE - dy}L${MIDDLE + dx} ${MIDDLE + dy}` });
      }),
    );
  }

  // The tip of a neuron's arrow: the cube root of its length, so that the small start is seen as well.
  function tip(run, frame, neuron) {
    const at = 2 * (frame * run.neurons + neuron);
    const [x, y] = [run.first[at], run.first[at + 1]];
    const length = Math.hypot(x, y);
    if (!length) return [MIDDLE, MIDDLE, 0, 0];
    const reach = REACH * MIDDLE * Math.cbrt(length / run.longest);
    return [MIDDLE + (x / length) * reach, MIDDLE - (y / length) * reach, x / length, -y / length];
  }

  function drawNeurons(layer, run, heads) {
    if (!run || !view.run) return layer.replaceChildren();
    const frame = Math.round((view.frame / Math.max(1, view.run.frames - 1)) * (run.frames - 1));
    const paths = { plus: ["", ""], minus: ["", ""] };
    for (let k = 0; k < run.neurons; k++) {
      const [x, y, dx, dy] = tip(run, frame, k);
      const path = paths[run.second[frame * run.neurons + k] >= 0 ? "plus" : "minus"];
      const fixed = (...values) => values.map((value) => value.toFixed(1)).join(" ");
      path[0] += `M${MIDDLE} ${MIDDLE}L${fixed(x - 6 * dx, y - 6 * dy)}`;
      path[1] += `M${fixed(x + 4 * dx, y + 4 * dy)}L${fixed(x - 7 * dx - 5 * dy, y - 7 * dy + 5 * dx)}L${fixed(x - 7 * dx + 5 * dy, y - 7 * dy - 5 * dx)}Z`;
    }
    const drawn = Object.entries(paths).flatMap(([sign, [shaft, head]]) => [
      s("path", { class: `casing`, d: shaft }),
      s("path", { class: `shaft ${sign}`, d: shaft }),
      ...(heads ? [s("path", { class: `head ${sign}`, d: head })] : []),
    ]);
    layer.replaceChildren(...drawn);
  }

  function drawRings() {
    const held = view.run && !view.run.deep ? heldAt(view.run, view.frame) : [];
    layers.rings.replaceChildren(
      ...held.map(({ neuron }) => {
        const [x, y] = tip(view.run, view.frame, neuron);
        return s("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 10 });
      }),
    );
  }

  function drawPoints() {
    while (layers.points.children.length > view.points.length) layers.points.lastChild.remove();
    while (layers.points.children.length < view.points.length) layers.points.append(newPoint(layers.points.children.length));
    view.points.forEach(([x1, x2, y], k) => {
      const point = layers.points.children[k];
      const told = view.run ? `, output ${number(output(view.run, view.frame, x1, x2), 3)}` : "";
      mark(point.children[2], { d: y >= 0 ? "M-5 0H5M0-5V5" : "M-5 0H5" });
      mark(point, {
        transform: `translate(${toPixels(x1, 1).toFixed(1)} ${toPixels(x2, -1).toFixed(1)})`,
        class: `point ${y >= 0 ? "plus" : "minus"}${k === view.selected ? " selected" : ""}`,
        "aria-label": `Point ${k + 1} of ${view.points.length} at ${number(x1, 4)}, ${number(x2, 4)}, label ${number(y, 3)}${told}`,
        tabindex: view.live ? 0 : -1,
      });
    });
  }

  function newPoint(k) {
    const point = s("g", { role: "button", "data-point": k, onkeydown: (event) => onKey(event, k), onfocus: () => selectPoint(k) });
    point.append(s("circle", { class: "touch", r: 24 }), s("circle", { class: "disc", r: 13 }), s("path", { class: "sign" }));
    point.setAttribute("aria-description", "Arrow keys move it, Shift makes small steps, F flips its label, Delete removes it, N adds another.");
    return point;
  }

  function selectPoint(k) {
    view.selected = k;
    drawPoints();
    select(k);
  }

  function edit(points, final) {
    view.points = points;
    change(points, final);
  }

  const withPoint = (k, point) => view.points.map((known, index) => (index === k ? point : known));
  const actions = {
    flip: (k) => edit(withPoint(k, [view.points[k][0], view.points[k][1], -view.points[k][2] || 1]), true),
    remove(k) {
      if (view.points.length < 2) return;
      view.selected = null;
      edit(view.points.filter((_, index) => index !== k), true);
    },
    add(x1, x2) {
      edit([...view.points, [x1, x2, 1]], true);
      selectPoint(view.points.length - 1);
    },
  };

  function onKey(event, k) {
    if (!view.live) return;
    const step = event.shiftKey ? STEP / 10 : STEP;
    const moves = { ArrowLeft: [-step, 0], ArrowRight: [step, 0], ArrowUp: [0, step], ArrowDown: [0, -step] };
    const [x1, x2, y] = view.points[k];
    const round = (value) => Math.round(value * 1e6) / 1e6;
    if (moves[event.key]) edit(withPoint(k, [round(x1 + moves[event.key][0]), round(x2 + moves[event.key][1]), y]), false);
    else if (event.key === "f" || event.key === "F" || event.key === "Enter") actions.flip(k);
    else if (event.key === "Delete" || event.key === "Backspace") actions.remove(k);
    else if (event.key === "n" || event.key === "N") actions.add(round(x1 + 0.2), round(x2 + 0.2));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
  svg.addEventListener("keyup", (event) => event.key.startsWith("Arrow") && view.live && edit(view.points, true));

  svg.addEventListener("pointerdown", (event) => {
    if (!view.live || event.button > 0) return;
    const target = event.target.closest("[data-point]");
    if (!target) {
      if (view.tool === "add") actions.add(...toPlane(event));
      return;
    }
    const k = Number(target.dataset.point);
    if (view.tool === "flip" || view.tool === "remove") return actions[view.tool](k);
    view.dragged = k;
    view.moved = false;
    svg.setPointerCapture(event.pointerId);
    target.focus({ preventScroll: true });
    selectPoint(k);
    event.preventDefault();
  });
  svg.addEventListener("pointermove", (event) => {
    if (view.dragged === null) return read(event);
    const [x1, x2] = toPlane(event);
    view.moved = true;
    edit(withPoint(view.dragged, [x1, x2, view.points[view.dragged][2]]), false);
    readPoint(view.dragged);
  });
  const drop = () => {
    if (view.dragged === null) return;
    view.dragged = null;
    if (view.moved) edit(view.points, true);
  };
  const rest = () => write(reading, HINT); // nothing is under the cursor
  svg.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && view.dragged === null && rest());
  svg.addEventListener("pointerup", drop);
  svg.addEventListener("pointercancel", drop);
  svg.addEventListener("dblclick", (event) => view.live && view.tool !== "add" && !event.target.closest("[data-point]") && actions.add(...toPlane(event)));
  svg.addEventListener("contextmenu", (event) => {
    const target = event.target.closest("[data-point]");
    if (!target || !view.live) return;
    event.preventDefault();
    actions.flip(Number(target.dataset.point));
  });

  // What is under the cursor.
  function read(event) {
    const point = event.target.closest("[data-point]");
    if (!view.run) return;
    if (point && view.points[point.dataset.point]) return readPoint(Number(point.dataset.point));
    const box = svg.getBoundingClientRect();
    const neuron = nearest(event, box);
    const [x1, x2] = toPlane(event, box);
    if (neuron !== null) {
      const at = view.frame * view.run.neurons + neuron;
      const held = heldAt(view.run, view.frame).some((hold) => hold.neuron === neuron);
      write(reading, `Neuron ${neuron + 1}: w = (${number(view.run.first[2 * at], 4)}, ${number(view.run.first[2 * at + 1], 4)}), a = ${number(view.run.second[at], 4)}${held ? ", held on a kink" : ""}`);
    } else write(reading, `x = (${number(x1, 3)}, ${number(x2, 3)}), output ${number(output(view.run, view.frame, x1, x2), 6)}`);
  }

  function readPoint(k) {
    const [x1, x2, y] = view.points[k];
    if (view.run) write(reading, `Point ${k + 1}: x = (${number(x1, 5)}, ${number(x2, 5)}), label ${number(y)}, output ${number(output(view.run, view.frame, x1, x2), 6)}`);
  }

  function nearest(event, box) {
    const [x, y] = [((event.clientX - box.left) / box.width) * SIZE, ((event.clientY - box.top) / box.height) * SIZE];
    let [best, distance] = [null, NEAR];
    for (let k = 0; k < view.run.neurons; k++) {
      const [tx, ty] = tip(view.run, view.frame, k);
      const away = Math.hypot(tx - x, ty - y);
      if (away < distance) [best, distance] = [k, away];
    }
    return best;
  }

  // Other points come: none of them is chosen, and nothing is under the cursor.
  function forget() {
    view.selected = null;
    rest();
  }

  return { element, svg, canvas, show, forget, actions };
}

function planeKeys() {
  const drawn = ([kind, d, text, sentence]) => explained(h("span", { class: `key ${kind}`, tabindex: 0 }, s("svg", { viewBox: "0 0 23 20", "aria-hidden": "true" }, s("path", { d })), text), sentence);
  return h("div", { class: "legend keys" }, ...KEYS.map(drawn));
}

function rangeOf(points) {
  const far = Math.max(0.5, ...points.flatMap(([x1, x2]) => [Math.abs(x1), Math.abs(x2)]));
  return Math.max(1.5, Math.ceil(far * 1.35 * 4) / 4);
}

// The angle (as an index) and radius of every pixel.
function polarPixels() {
  const angle = new Uint16Array(PIXELS * PIXELS);
  const radius = new Float32Array(PIXELS * PIXELS);
  for (let row = 0; row < PIXELS; row++) {
    for (let column = 0; column < PIXELS; column++) {
      const [x, y] = [(2 * (column + 0.5)) / PIXELS - 1, 1 - (2 * (row + 0.5)) / PIXELS];
      const k = row * PIXELS + column;
      angle[k] = Math.round(((Math.atan2(y, x) / (2 * Math.PI) + 1) % 1) * ANGLES) % ANGLES;
      radius[k] = Math.hypot(x, y);
    }
  }
  return { angle, radius };
}

// 256 colours from the negative over the paper to the positive, as the style sheet says.
let known = { key: "" };
function palette(element) {
  const style = getComputedStyle(element);
  const names = ["--field-minus", "--field-zero", "--field-plus"];
  const key = names.map((name) => style.getPropertyValue(name).trim()).join();
  if (key === known.key) return known.colours;
  const [minus, zero, plus] = names.map((name) => style.getPropertyValue(name).trim().match(/\w\w/g).map((pair) => parseInt(pair, 16)));
  const colours = new Uint32Array(256);
  for (let k = 0; k < 256; k++) {
    const share = Math.abs(k - 128) / 128;
    const [r, g, b] = zero.map((base, index) => Math.round(base + share * ((k < 128 ? minus : plus)[index] - base)));
    colours[k] = (255 << 24) | (b << 16) | (g << 8) | r;
  }
  known = { key, colours };
  return colours;
}
