// Elements, numbers and times as text.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

export function s(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

// What is drawn at every move is written only where it changed: whatever is written makes the browser lay out and paint again.
export function mark(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
}

export function write(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const ICONS = {
  play: "M7 4.5L19 12L7 19.5Z",
  pause: "M6 4.5H10V19.5H6ZM14 4.5H18V19.5H14Z",
  rewind: "M5 5H8V19H5ZM19 5V19L9 12Z",
  theme: "M12 3a9 9 0 1 0 .01 0ZM12 5.2V18.8A6.8 6.8 0 0 1 12 5.2Z",
};

export function icon(name) {
  return s("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: ICONS[name], "fill-rule": "evenodd" }));
}

// A number with so many significant digits, without needless zeros.
export function number(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text = size >= 1e6 || size < 1e-3 ? power(value, digits) : trimmed(value.toPrecision(digits));
  return text.replace("-", "−");
}

function trimmed(text) {
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

function power(value, digits) {
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const lead = trimmed(mantissa);
  const tens = `10${raised(Number(exponent))}`;
  return lead === "1" ? tens : `${lead}·${tens}`;
}

export function raised(exponent) {
  return String(exponent).replace(/./g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit] ?? (digit === "-" ? "⁻" : digit));
}

// The reading of a clock: t, or 10^(log10 t) for far runs.
export function time(clock, far) {
  if (clock === null || !Number.isFinite(clock)) return "t = 0";
  return far ? `t = 10^${clock < 10 ? number(clock, 3) : Math.round(clock).toLocaleString("en-US")}` : `t = ${number(clock, 4)}`;
}

// One sentence on what an element is and why it matters, shown on hover and focus.
export function explained(element, sentence) {
  element.dataset.tip = sentence;
  element.setAttribute("aria-description", sentence);
  return element;
}

export function watchTips(root) {
  const bubble = h("div", { class: "tip", role: "tooltip", hidden: true });
  root.append(bubble);
  let shown = null;
  const show = (event) => {
    const target = event.target.closest?.("[data-tip]");
    if (target === shown) return;
    shown = target;
    bubble.hidden = !target;
    if (!target) return;
    bubble.textContent = target.dataset.tip;
    const place = target.getBoundingClientRect();
    const base = root.getBoundingClientRect();
    const left = Math.min(Math.max(place.left - base.left, 8), base.width - bubble.offsetWidth - 8);
    const below = place.bottom + bubble.offsetHeight + 16 < window.innerHeight;
    const tall = place.height > 200;
    const top = tall ? place.bottom - bubble.offsetHeight - 12 : below ? place.bottom + 8 : place.top - bubble.offsetHeight - 8;
    bubble.style.left = `${Math.max(left, 8)}px`;
    bubble.style.top = `${top - base.top}px`;
  };
  const hide = () => { shown = null; bubble.hidden = true; };
  root.addEventListener("pointerover", (event) => event.pointerType === "mouse" && show(event));
  root.addEventListener("focusin", (event) => event.target.matches(":focus-visible") && show(event));
  root.addEventListener("focusout", hide);
  root.addEventListener("pointerdown", hide);
  root.addEventListener("pointerleave", hide);
  root.addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

export function download(name, kind, contents) {
  const blob = contents instanceof Blob ? contents : new Blob([contents], { type: kind });
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
