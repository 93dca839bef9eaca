// Controls of the problem, values of the chosen point, and hypotheses as lights.
import { h, write, number, explained } from "./marks.js";

const SHOWN = 12; // hypotheses that are always seen
const LIGHTS = { true: ["yes", "✓"], false: ["no", "×"], null: ["undecided", "?"] };

export function createControls({ change }) {
  const element = h("form", { class: "controls", "aria-label": "The problem", onsubmit: (event) => event.preventDefault() });
  const fields = {};
  let state = null;

  const set = (values, final) => change({ ...state, ...values }, final);

  function field(name, label, input, sentence, read) {
    input.id = `explorer-${name}`;
    input.name = name;
    const update = (final) => {
      const value = read(input.value);
      if (value !== null && !Number.isNaN(value)) set(adjusted({ [name]: value }, state), final);
    };
    input.addEventListener("input", () => update(false));
    input.addEventListener("change", () => update(true));
    fields[name] = input;
    element.append(h("div", { class: "field" }, explained(h("label", { for: input.id }, label), sentence), input));
  }

  function build(choices, bounds) {
    element.replaceChildren();
    const numeric = (attributes) => h("input", { type: "number", ...attributes });
    const menu = (options) => h("select", {}, ...options.map((option) => h("option", { value: option }, option.replace("_", " "))));
    const whole = (low, high) => (text) => (/^\d+$/.test(text) ? Math.min(high, Math.max(low, Number(text))) : null);
    field("width", "Neurons", numeric({ min: 1, max: bounds.width, step: 1 }), "How many neurons each hidden layer has; exact runs stay fast into the hundreds.", whole(1, bounds.width));
    field("depth", "Hidden layers", numeric({ min: 1, max: bounds.depth, step: 1 }), "One hidden layer is where the theory lives; more can express odd functions that are not linear.", whole(1, bounds.depth));
    field("alpha", "Slope α", numeric({ min: 0, max: 1, step: 0.05 }), "Slope on the negative side: 0 is ReLU, 1 is a linear network.", (text) => bounded(text, 0, 1));
    field("scale", "Start size", menu(["1", "0.3", "0.1", "0.01", "0.001", "1e-4", "1e-6", "1e-8"]), "How large the starting weights are; small starts make the network choose directions before it grows.", Number);
    field("start", "Start", menu(choices.start), "How the starting weights are drawn.", (text) => text);
    field("seed", "Seed", numeric({ min: 0, step: 1 }), "Another seed is another start; rewinding never changes it.", whole(0, 2 ** 31 - 1));
    field("loss", "Loss", menu(choices.loss), "Square for regression; logistic and exponential for labels +1 and −1.", (text) => text);
    field("until", "Until t", numeric({ min: 0.01, step: "any" }), "The last time that is computed.", (text) => (Number(text) > 0 ? Number(text) : null));
  }

  function show(next, live) {
    state = next;
    for (const [name, input] of Object.entries(fields)) {
      input.disabled = !live;
      if (document.activeElement === input) continue;
      const value = String(next[name]);
      if (input.tagName === "SELECT") {
        const same = [...input.options].find((option) => option.value === value || (Number(option.value) === next[name] && option.value !== ""));
        if (!same) input.append(h("option", { value }, value));
        if (!same || input.value !== same.value) input.value = same ? same.value : value;
      } else if (input.value !== value) input.value = value;
    }
    write(fields.until.previousSibling, next.far ? "Until log₁₀ t" : "Until t");
  }

  return { element, build, show };
}

function bounded(text, low, high) {
  const value = Number(text);
  return text === "" || Number.isNaN(value) ? null : Math.min(high, Math.max(low, value));
}

// What must change along: a start of its own fits one network and has no seed,
// classes need labels ±1, and far times need classes and one hidden layer.
export function adjusted(values, state) {
  const next = { ...values };
  const loss = next.loss ?? state.loss;
  if (state.start === "own" && ["width", "depth", "scale", "seed"].some((name) => name in next)) next.start = "gaussian";
  if (loss !== "square") next.points = (next.points ?? state.points).map(([x1, x2, y]) => [x1, x2, y >= 0 ? 1 : -1]);
  if (state.far && (loss === "square" || (next.depth ?? state.depth) > 1)) Object.assign(next, { far: false, until: 3000 });
  if ((next.depth ?? state.depth) > 1) next.width = Math.min(next.width ?? state.width, 30);
  if ((next.depth ?? 1) > 1) Object.assign(next, { start: "gaussian", scale: Math.max(state.scale, 0.3), until: Math.min(state.until, 100), width: Math.min(next.width, 8) });
  return next;
}

export function createPointForm({ change }) {
  const names = ["x₁", "x₂", "label y"];
  const inputs = names.map((name, k) => h("input", { type: "number", step: "any", "aria-label": name, onchange: () => update(k) }));
  const title = h("span", { class: "which" });
  const element = h("div", { class: "chosen", hidden: true }, title, ...inputs.flatMap((input, k) => [h("span", { "aria-hidden": "true" }, names[k]), input]));
  let view = null;

  function update(k) {
    const value = Number(inputs[k].value);
    if (inputs[k].value === "" || Number.isNaN(value)) return;
    const point = [...view.points[view.chosen]];
    point[k] = value;
    change(view.points.map((known, index) => (index === view.chosen ? point : known)), true);
  }

  function show(points, chosen, live) {
    view = { points, chosen };
    element.hidden = chosen === null || !points[chosen];
    if (element.hidden) return;
    write(title, `Point ${chosen + 1}`);
    inputs.forEach((input, k) => {
      input.disabled = !live;
      if (document.activeElement !== input && input.value !== String(points[chosen][k])) input.value = points[chosen][k];
    });
  }

  return { element, show };
}

export function createLights() {
  const list = h("ul", { class: "lights" });
  const others = h("ul", { class: "lights" });
  const count = h("summary", {});
  const more = h("details", { class: "more", hidden: true }, count, others);
  const verdict = h("p", { class: "verdict" });
  const element = h("section", { class: "hypotheses", "aria-label": "Hypotheses and theorems" }, h("h2", {}, "What theory sees"), verdict, list, more);

  // Those that a theorem which applies rests on come first, then those that keep others from applying.
  function ordered({ findings, theorems }) {
    const applied = new Set(theorems.map(({ title }) => title));
    const rank = ({ holds, serves }) => (serves.some((title) => applied.has(title)) ? 0 : holds === true ? 2 : 1);
    return [0, 1, 2].flatMap((wanted) => findings.filter((finding) => rank(finding) === wanted));
  }

  function show(theory) {
    element.classList.toggle("stale", !theory);
    if (!theory) return;
    const names = theory.theorems.map(({ title, source }) => explained(h("b", { tabindex: 0 }, title), source));
    verdict.replaceChildren(
      ...(names.length ? ["Applies: ", ...names.flatMap((name, k) => (k ? ["; ", name] : [name])), ". "] : ["No theorem applies to these data; the exact run does not need one. "]),
      theory.ending.startsWith("not ") ? "" : `Ends at ${theory.ending}.`,
    );
    const lights = ordered(theory).map(light);
    list.replaceChildren(...lights.slice(0, SHOWN));
    others.replaceChildren(...lights.slice(SHOWN));
    count.textContent = `${others.children.length} more hypotheses`;
    more.hidden = !others.children.length;
  }

  function light(finding) {
    const [word, sign] = LIGHTS[finding.holds];
    const serves = finding.serves.length ? ` Assumed by: ${finding.serves.join("; ")}.` : "";
    const measured = finding.measured === null ? "" : ` ${number(finding.measured, 2)}`;
    const row = h("li", { class: word, tabindex: 0 }, h("i", { "aria-hidden": "true" }, sign), h("span", { class: "name" }, finding.name.replaceAll("_", " ")), h("span", { class: "unseen" }, `: ${word}`), h("span", { class: "measured" }, measured));
    return explained(row, `${finding.sentence} Measured ${number(finding.measured, 3)} against ${number(finding.threshold, 3)}.${serves}`);
  }

  return { element, show };
}
