// "My data": rows of numbers, pasted or from a CSV file, in the plane.
import { h } from "./marks.js";

const TURNS = 500; // of the power iteration that finds a principal axis

export function createPaste({ use, most }) {
  const area = h("textarea", { rows: 9, "aria-label": "Rows of numbers, the label last", placeholder: "x1, x2, y\n1, 0, 1\n-1, 0.2, -1\n…", spellcheck: "false" });
  const file = h("input", { type: "file", accept: ".csv,text/csv,text/plain", "aria-label": "A CSV file", onchange: async () => { if (file.files[0]) area.value = await file.files[0].text(); } });
  const fault = h("p", { class: "fault", role: "alert" });
  const element = h("dialog", { class: "paste", "aria-label": "My data" },
    h("h2", {}, "My data"),
    h("p", {}, "One sample per row, numbers separated by commas or blanks, the label last. More than two inputs are seen along their first two principal axes. Nothing leaves this machine."),
    area, file, fault,
    h("div", { class: "row" }, h("button", { type: "button", class: "strong", onclick: () => take() }, "Use these"), h("button", { type: "button", onclick: () => element.close() }, "Close")));

  function take() {
    try {
      const mine = readTable(area.value, most());
      fault.textContent = "";
      element.close(); // first: it gives the focus back, perhaps to a point, which that chooses
      use(mine);
    } catch (error) {
      fault.textContent = error.message;
    }
  }

  return { element, show: () => element.showModal() };
}

// {points, note} of a text with one sample per row.
export function readTable(text, most) {
  const rows = text.split(/\r?\n/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#")).map((line) => line.split(/[\s,;]+/).filter((cell) => cell !== ""));
  if (rows.length && rows[0].every((cell) => Number.isNaN(Number(cell)))) rows.shift();
  if (!rows.length) throw new Error("At least one row of numbers is needed.");
  const columns = rows[0].length;
  if (columns < 3) throw new Error(`Two inputs and a label are needed in each row, found ${columns} column${columns > 1 ? "s" : ""}.`);
  const table = rows.map((row, k) => {
    const values = row.map(Number);
    if (row.length !== columns || !values.every(Number.isFinite)) throw new Error(`Row ${k + 1} must hold ${columns} numbers, found “${row.join(", ").slice(0, 60)}”.`);
    return values;
  });
  const notes = [];
  const inputs = table.map((row) => row.slice(0, -1));
  let plane = inputs;
  if (columns > 3) {
    const { places, share } = principal(inputs);
    plane = places;
    notes.push(`${columns - 1} inputs, seen along their first two principal axes (${Math.round(100 * share)} % of their size).`);
  }
  if (table.length > most) notes.push(`The first ${most} of ${table.length} samples are shown.`);
  const points = plane.map(([x1, x2], k) => [x1, x2, table[k][columns - 1]]).slice(0, most);
  const size = Math.max(...points.flat().map(Math.abs)) / 100;
  if (size > 1) notes.push(`Divided by ${size.toPrecision(3)}, to fit the page.`);
  const shrink = (value) => Number((value / Math.max(1, size)).toPrecision(6));
  return { points: points.map((point) => point.map(shrink)), note: notes.join(" ") };
}

// Coordinates along the first two principal axes, about the origin: a network without bias has no other centre.
function principal(rows) {
  const dimensions = rows[0].length;
  const moments = Array.from({ length: dimensions }, (_, a) => Array.from({ length: dimensions }, (_, b) => rows.reduce((sum, row) => sum + row[a] * row[b], 0)));
  const total = moments.reduce((sum, row, k) => sum + row[k], 0) || 1;
  const axes = [];
  let share = 0;
  for (let k = 0; k < 2; k++) {
    let axis = moments.map((_, index) => Math.cos(1 + index));
    let size = 0;
    for (let turn = 0; turn < TURNS; turn++) {
      const next = moments.map((row) => row.reduce((sum, value, index) => sum + value * axis[index], 0));
      size = Math.hypot(...next);
      if (!size) break;
      axis = next.map((value) => value / size);
    }
    share += size / total;
    axes.push(axis);
    moments.forEach((row, a) => row.forEach((_, b) => { row[b] -= size * axis[a] * axis[b]; }));
  }
  return { places: rows.map((row) => axes.map((axis) => row.reduce((sum, value, k) => sum + value * axis[k], 0))), share };
}
