// A two-minute tour through Figure 2.
import { h } from "./marks.js";
import { frameAt, frameOfHolds } from "./state.js";

const PLATEAU_MOMENT = 250;
const STEPS = [
  { title: "1 · Even data", preset: "Even data (δ = 0)", frame: (run) => run.frames - 1, text: "Six points; each has its mirror image −x with the opposite label. Dashed is theory, and it covers the exact run: a ReLU network on such data learns what linear regression learns, and stays there for ever." },
  { title: "2 · Small weights turn first", preset: "Even data (δ = 0)", frame: (run) => frameAt(run, 8), text: "Early on the loss seems to do nothing. But look at the arrows: every neuron turns towards one direction (or its opposite) while it is still tiny. Then they grow together." },
  { title: "3 · Break the symmetry", preset: "Six points (Figure 2)", frame: (run) => frameAt(run, PLATEAU_MOMENT), text: "One point has moved up by 0.15. The network still falls to the linear solution first and sits on that plateau (shaded) for hundreds of time units: one straight boundary, two points of six wrong." },
  { title: "4 · Held on a kink", preset: "Six points (Figure 2)", frame: frameOfHolds, text: "Rings mark neurons held on a kink (dashed line): pushed onto it from both sides, they can only grow along it. Ordinary solvers stall here; this run is exact, and each hold is certified." },
  { title: "5 · Escape", preset: "Six points (Figure 2)", frame: (run) => run.frames - 1, text: "The held neurons grow until they matter; the loss falls a second time, to zero. The boundary now bends, close to the points it separates." },
  { title: "6 · Stuck seeds", preset: "A stuck seed", frame: (run) => run.frames - 1, text: "Same data, another seed. No neuron was left where one is needed, and the plateau is the end. With 20 neurons more than half of all seeds end like this." },
  { title: "7 · Your turn", preset: "Six points (Figure 2)", frame: (run) => run.frames - 1, text: "Drag the right-most point along the dashed lines: nearer to the symmetric place the plateau lasts longer, inversely to the distance. Keep a run to compare it with the next." },
];

export function createTour({ open, moveTo }) {
  const title = h("h2", { tabindex: -1 });
  const text = h("p");
  const back = h("button", { type: "button", onclick: () => go(step - 1) }, "Back");
  const next = h("button", { type: "button", class: "strong", onclick: () => go(step + 1) }, "Next");
  const close = h("button", { type: "button", "aria-label": "End the tour", onclick: () => end() }, "×");
  const element = h("aside", { class: "tour", "aria-label": "Guided tour", hidden: true }, close, title, text, h("div", { class: "row" }, back, next));
  let step = 0;
  let waiting = null;

  function go(k) {
    if (k >= STEPS.length) return end();
    step = Math.max(0, k);
    element.hidden = false;
    title.textContent = STEPS[step].title;
    text.textContent = STEPS[step].text;
    back.disabled = step === 0;
    next.textContent = step === STEPS.length - 1 ? "Done" : "Next";
    waiting = STEPS[step];
    open(waiting.preset);
    title.focus({ preventScroll: true });
  }

  function end() {
    element.hidden = true;
    waiting = null;
  }

  // Called with every finished run: the tour shows its moment once.
  function arrived(run) {
    if (!waiting || run.state.name !== waiting.preset) return;
    moveTo(waiting.frame(run));
    waiting = null;
  }

  element.addEventListener("keydown", (event) => event.key === "Escape" && end());
  return { element, start: () => go(0), arrived };
}
