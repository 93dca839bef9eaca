// What can be taken away: code, tables, figures, the run itself, a page that replays it.
import { h, s, download, explained } from "./marks.js";

const DRAWN = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity", "font-family", "font-size", "font-weight", "paint-order"];
const GAP = 24;

export function createKeepers({ current, plane, curve, askPage, say }) {
  const dialog = codeDialog(say);
  const make = (label, sentence, act) => explained(h("button", { type: "button", onclick: act }, label), sentence);
  const code = make("Python", "Python code that repeats this run exactly.", () => current().run && dialog.show(current().run.code));
  const element = h("div", { class: "keepers", role: "group", "aria-label": "Take it away" },
    code,
    make("CSV", "A table of time, loss and prediction.", () => download("run.csv", "text/csv", table(current()))),
    make("PNG", "A picture of plane and curve.", async () => download("run.png", "image/png", await bitmap(plane, curve))),
    make("SVG", "The same picture as a drawing for papers.", () => download("run.svg", "image/svg+xml", drawing(plane, curve).text)),
    make("JSON", "The whole run: times, loss, weights (float32, base64), events.", () => download("run.json", "application/json", JSON.stringify(current().document))),
    askPage ? make("Page", "One file that replays this run without a server, for lectures.", askPage) : null,
  );
  return { element: h("div", {}, element, dialog.element) };
}

export function pageWith(template, welcome, documents) {
  const contents = JSON.stringify([{ ...welcome, replay: true }, ...documents]).replaceAll("<", "\\u003c");
  return template.replace("/*documents*/null", () => contents);
}

function codeDialog(say) {
  const text = h("pre", { tabindex: 0 });
  const copy = h("button", { type: "button", class: "strong", onclick: async () => {
    await navigator.clipboard?.writeText(text.textContent);
    say("The code is on the clipboard.");
  } }, "Copy");
  const element = h("dialog", { class: "code", "aria-label": "Python code" }, text, h("div", { class: "row" }, copy, h("button", { type: "button", onclick: () => element.close() }, "Close")));
  return { element, show(code) { text.textContent = code; element.showModal(); } };
}

function table({ run, theory }) {
  if (!run) return "";
  const told = theory?.curve?.clock.length === run.clock.length && !theory.curve.mirrored ? theory.curve.loss : null;
  const head = `${run.far ? "log10_time,log_loss" : "time,loss"}${told ? ",predicted_loss" : ""}`;
  const rows = run.clock.map((clock, k) => [clock ?? (run.far ? "-inf" : 0), run.far ? run.log_loss[k] : run.loss[k], ...(told ? [told[k]] : [])].join(","));
  return [head, ...rows, ""].join("\n");
}

// Plane and curve side by side as one SVG that needs no style sheet.
export function drawing(plane, curve) {
  const [left, right] = [plane.svg.viewBox.baseVal, curve.svg.viewBox.baseVal];
  const scale = left.height / right.height;
  const [width, height] = [left.width + GAP + right.width * scale, left.height];
  const paper = getComputedStyle(plane.element).getPropertyValue("--paper").trim();
  const whole = s("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` },
    s("rect", { width, height, fill: paper }),
    s("image", { href: plane.canvas.toDataURL("image/png"), width: left.width, height: left.height }),
    placed(plane.svg, 0, left.width, left.height),
    placed(curve.svg, left.width + GAP, right.width * scale, left.height));
  return { text: new XMLSerializer().serializeToString(whole), width, height };
}

function placed(svg, x, width, height) {
  const copy = svg.cloneNode(true);
  const originals = svg.querySelectorAll("*");
  copy.querySelectorAll("*").forEach((node, k) => {
    const style = getComputedStyle(originals[k]);
    for (const name of DRAWN) node.setAttribute(name, style.getPropertyValue(name));
    for (const name of ["class", "tabindex", "role", "data-tip", "aria-description"]) node.removeAttribute(name);
  });
  for (const [name, value] of Object.entries({ x, y: 0, width, height })) copy.setAttribute(name, value);
  return copy;
}

async function bitmap(plane, curve) {
  const { text, width, height } = drawing(plane, curve);
  const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  const image = new Image();
  image.src = source;
  await image.decode();
  const canvas = h("canvas", { width: 2 * width, height: 2 * height });
  canvas.getContext("2d").drawImage(image, 0, 0, 2 * width, 2 * height);
  URL.revokeObjectURL(source);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
