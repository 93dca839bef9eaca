// The explorer as an anywidget front-end module: everything it knows comes from messages of its model.
import { createCurve } from "./curve.js";
import { createKeepers, pageWith } from "./keep.js";
import { h, download, explained, icon, number, time, watchTips, write } from "./marks.js";
import { adjusted, createControls, createLights, createPointForm } from "./panels.js";
import { createPaste } from "./paste.js";
import { createPlane } from "./plane.js";
import { fromAddress, heldAt, readRun, toAddress } from "./state.js";
import { createTour } from "./tour.js";

const PATIENCE = 600; // milliseconds after which a drag no longer waits for the run before: its budget and a little
const RESTING = 400; // milliseconds after the last change when the run is made exact
const PLAYING = 7000; // milliseconds from the first frame to the last

function render({ model, el }) {
  const view = { welcome: null, state: null, document: null, run: null, theory: null, glance: null, ghost: null, frame: 0, place: null, asked: null, chosen: null };
  const traffic = { id: 0, drawn: 0, flying: new Map(), pending: null };

  const root = h("div", { class: "rectilinear-explorer", "data-status": "connecting" });
  const status = h("p", { class: "status", role: "status", "aria-live": "polite" }, "Connecting …");
  const facts = h("p", { class: "facts" });
  const note = h("p", { class: "note" });
  const presets = h("select", { "aria-label": "Choose a run", onchange: () => (presets.value === "mine" ? paste.show() : open(presets.value)) });
  const plane = createPlane({ change: (points, final) => become({ ...view.state, points }, final), select: choose });
  const curve = createCurve({ moveTo });
  const controls = createControls({ change: (state, final) => become(state, final) });
  const pointForm = createPointForm({ change: (points, final) => become({ ...view.state, points }, final) });
  const lights = createLights();
  const tour = createTour({ open, moveTo });
  const paste = createPaste({ most: () => view.welcome.bounds.points, use: (mine) => { forgetPoint(); become(adjusted({ ...view.state, ...mine, far: false, until: view.state.far ? 3000 : view.state.until, name: "My data" }, view.state), true); } });
  const keepers = createKeepers({ current: () => ({ ...view, theory: fitting() }), plane, curve, askPage: model.replays ? null : () => model.send({ kind: "page" }), say });
  const transport = createTransport();
  const buttons = headerButtons();

  root.append(
    h("header", {}, h("h1", {}, h("span", { class: "mark", "aria-hidden": "true" }), "Rectilinear ", h("span", { class: "thin" }, "explorer")), presets, buttons),
    h("main", {},
      h("div", { class: "left" }, plane.element, pointForm.element, note, h("footer", {}, keepers.element, status)),
      h("div", { class: "right" }, curve.element, transport.element, facts, controls.element, lights.element)),
    tour.element, paste.element,
  );
  el.append(root);
  watchTips(root);

  function headerButtons() {
    const make = (label, sentence, act) => explained(h("button", { type: "button", onclick: act }, label), sentence);
    const keep = make("Keep to compare", "Keep this run in grey, and see the next one over it; press again to let it go.", () => {
      view.ghost = view.ghost ? null : view.run;
      keep.setAttribute("aria-pressed", Boolean(view.ghost));
      redraw();
    });
    keep.setAttribute("aria-pressed", "false");
    const share = make("Copy link", "An address that holds the whole state, without this server's secret.", async () => {
      await navigator.clipboard?.writeText(`${location.href.split("#")[0]}#${toAddress(view.state, view.frame)}`);
      say("The link is on the clipboard.");
    });
    const theme = make(icon("theme"), "Dark or light.", () => {
      const dark = getComputedStyle(root).getPropertyValue("--is-dark").trim() === "1";
      root.dataset.theme = dark ? "light" : "dark";
      redraw();
    });
    theme.setAttribute("aria-label", "Dark or light");
    return h("div", { class: "buttons" }, model.replays ? null : make("Tour", "Two minutes through Figure 2.", () => tour.start()), keep, model.address ? share : null, theme);
  }

  function createTransport() {
    const slider = explained(h("input", { type: "range", min: 0, max: 1, step: 1, value: 0, "aria-label": "Time", oninput: () => { stop(); moveTo(Number(slider.value)); } }), "The moment that is shown, at equal ratios of time.");
    const play = explained(h("button", { type: "button", class: "strong play", "aria-label": "Play", onclick: () => (playing ? stop() : start()) }, icon("play")), "Play the run from here; space does the same.");
    const rewind = explained(h("button", { type: "button", "aria-label": "Rewind", onclick: () => { stop(); moveTo(0); } }, icon("rewind")), "Back to the start, which stays the same; the seed is a control of its own.");
    const reading = h("span", { class: "moment" });
    let playing = null;

    function start() {
      if (!view.run) return;
      const last = view.run.frames - 1;
      const from = view.frame >= last ? 0 : view.frame;
      const began = performance.now() - (from / last) * PLAYING;
      play.replaceChildren(icon("pause"));
      play.setAttribute("aria-label", "Pause");
      const step = (now) => {
        if (!view.run) return stop();
        const frame = Math.min(view.run.frames - 1, Math.floor(((now - began) / PLAYING) * view.run.frames));
        moveTo(Math.max(0, frame), true);
        if (frame >= view.run.frames - 1) stop();
        else playing = requestAnimationFrame(step);
      };
      playing = requestAnimationFrame(step);
    }

    function stop() {
      if (playing) cancelAnimationFrame(playing);
      playing = null;
      play.replaceChildren(icon("play"));
      play.setAttribute("aria-label", "Play");
    }

    function show() {
      const { run, frame } = view;
      if (!run) return;
      slider.max = run.frames - 1;
      slider.value = frame;
      const loss = run.far ? `ln L = ${number(run.log_loss[frame], 6)}` : `loss ${number(run.loss[frame], 6)}`;
      const held = heldAt(run, frame).length;
      reading.replaceChildren(h("b", {}, time(run.clock[frame], run.far)), ` ${loss}${held ? `, ${held} held` : ""}`);
      slider.setAttribute("aria-valuetext", reading.textContent);
    }

    return { element: h("div", { class: "transport" }, rewind, play, slider, reading), show, toggle: () => (playing ? stop() : start()) };
  }

  root.addEventListener("keydown", (event) => {
    if (event.key === " " && !event.target.closest("button, input, select, textarea, summary, [role=button], dialog")) {
      event.preventDefault();
      transport.toggle();
    }
  });

  function say(text) {
    status.textContent = text;
  }

  function choose(k) {
    view.chosen = k;
    pointForm.show(view.state.points, k, live());
  }

  function live() {
    return !model.replays;
  }

  function open(name) {
    const preset = view.welcome.presets.find((known) => known.name === name);
    if (!preset) return;
    view.place = null;
    forgetPoint();
    become({ ...preset }, true);
  }

  function forgetPoint() {
    view.chosen = null;
    plane.forget();
  }

  function become(state, final) {
    view.state = state;
    if (view.welcome.presets.every((preset) => JSON.stringify(preset.points) !== JSON.stringify(state.points) || preset.name !== state.name)) view.state = { ...state, note: state.name === "My data" ? state.note : "" };
    ask(final); // first: it is computed while this is drawn
    showState();
    clearTimeout(traffic.settling);
    if (!final) traffic.settling = setTimeout(() => ask(true), RESTING);
  }

  function showState() {
    controls.show(view.state, live());
    pointForm.show(view.state.points, view.chosen, live());
    plane.show({ points: view.state.points, run: view.run, ghost: view.ghost, frame: view.frame, live: live() });
    write(note, view.state.note);
    const offered = [...presets.options].some((option) => option.value === view.state.name);
    const chosen = offered && view.state.name !== "My data" ? view.state.name : "mine";
    if (presets.value !== chosen) presets.value = chosen;
  }

  // As many runs of a drag are on their way as there are solvers; what comes meanwhile waits, and only the newest does.
  function ask(final) {
    traffic.pending = { final: final || Boolean(traffic.pending?.final) };
    pump();
  }

  function pump() {
    if (!traffic.pending || !view.welcome) return;
    const { final } = traffic.pending;
    const now = performance.now();
    if (final) traffic.flying.clear(); // the server ends what it does for earlier moves
    for (const [id, sent] of traffic.flying) if (now - sent >= PATIENCE) traffic.flying.delete(id);
    if (traffic.flying.size >= (view.welcome.solvers ?? 1)) {
      clearTimeout(traffic.timer);
      traffic.timer = setTimeout(pump, PATIENCE - now + Math.min(...traffic.flying.values()));
      return;
    }
    traffic.pending = null;
    traffic.flying.set(++traffic.id, final ? -Infinity : now); // a last word does not hold up a new drag
    root.dataset.status = "running";
    model.send({ kind: "run", id: traffic.id, state: view.state, final });
  }

  function moveTo(frame) {
    if (!view.run) return;
    view.place = Math.max(0, Math.min(1, frame / Math.max(1, view.run.frames - 1)));
    showMoment();
  }

  // The moment is kept as a share of the run, which previews tell in fewer frames.
  function showMoment() {
    if (!view.run) return;
    view.frame = Math.round((view.place ?? 1) * (view.run.frames - 1));
    plane.show({ points: view.state.points, run: view.run, ghost: view.ghost, frame: view.frame, live: live() });
    curve.moveCursor(view.frame);
    transport.show();
    root.dataset.frame = view.frame;
    clearTimeout(traffic.addressTimer);
    traffic.addressTimer = setTimeout(writeAddress, 200);
  }

  function writeAddress() {
    if (view.state) model.address?.write(toAddress(view.state, view.frame));
  }

  // What theory says of the run that is drawn; null while it still speaks of another.
  function fitting() {
    const same = view.theory && view.document && JSON.stringify(view.theory.state) === JSON.stringify(view.document.state);
    return same ? view.theory : null;
  }

  // What is drawn of theory: all it says, or at a glance while that is of this run or of a later move.
  function told() {
    const { glance, document } = view;
    const counts = glance && document && (glance.id >= document.id || JSON.stringify(glance.state) === JSON.stringify(document.state));
    return fitting() ?? (counts ? glance : null);
  }

  function redraw() {
    curve.show({ run: view.run, ghost: view.ghost, theory: told(), frame: view.frame });
    showMoment();
  }

  const on = {
    welcome(message) {
      const again = view.welcome !== null;
      view.welcome = message;
      controls.build(message.choices, message.bounds);
      presets.replaceChildren(...message.presets.map(({ name }) => h("option", { value: name }, name)));
      if (live()) presets.append(h("option", { value: "mine" }, "My data …"));
      const found = again ? null : fromAddress(model.address?.read() ?? "", message.presets[0]);
      if (!again) view.state = found?.state ?? message.presets[0];
      view.asked = found?.frame ?? null;
      traffic.flying.clear();
      if (message.ready === false) say("Preparing the exact solver: it compiles once, about a minute after an install …");
      else say("Ready.");
      become(view.state, true);
    },
    ready() {
      if (!view.run) say("Ready.");
    },
    run(message) {
      if (message.id < traffic.drawn) return;
      traffic.drawn = message.id;
      const waitedFor = traffic.flying.has(message.id);
      for (const id of traffic.flying.keys()) if (id <= message.id) traffic.flying.delete(id);
      pump(); // the next run is computed while this one is drawn
      view.document = message;
      view.run = readRun(message);
      if (view.asked !== null) view.place = Math.min(1, view.asked / Math.max(1, view.run.frames - 1));
      view.asked = null;
      view.frame = Math.round((view.place ?? 1) * (view.run.frames - 1));
      lights.element.classList.toggle("stale", fitting() === null);
      redraw();
      showFacts(message);
      if (waitedFor && !traffic.flying.size) root.dataset.status = message.final ? "exact" : "preview";
      Object.assign(root.dataset, { drawn: message.id, final: message.final, loss: view.run.loss[view.run.frames - 1] });
      if (message.final) {
        say(summary(view.run));
        tour.arrived(view.run);
        writeAddress();
      } else write(status, "A preview; the exact run follows when you stop.");
    },
    theory(message) {
      view.theory = message;
      lights.show(message);
      lights.element.classList.toggle("stale", fitting() === null);
      root.dataset.theory = message.id;
      curve.tell(told());
    },
    glance(message) {
      view.glance = message;
      root.dataset.glance = message.id;
      curve.tell(told());
    },
    error(message) {
      say(message.text);
      if (message.id === null) traffic.flying.clear();
      traffic.flying.delete(message.id);
      root.dataset.status = "refused";
      pump();
    },
    page(message) {
      const documents = [view.document, fitting()].filter((document) => document !== null);
      download("run.html", "text/html", pageWith(message.html, { ...view.welcome, presets: [view.document.state] }, documents));
    },
    gone(message) {
      root.dataset.status = "gone";
      traffic.flying.clear();
      say(message.text);
    },
  };

  function showFacts(run) {
    const cost = run.seconds < 0.9995 ? `${Math.max(1, Math.round(1000 * run.seconds))} ms` : `${number(run.seconds, 3)} s`;
    const exact = `exact to ${number(run.rtol, 1)}, ${cost}`;
    facts.classList.toggle("short", !run.complete);
    const cut = `ended at ${time(run.clock[run.clock.length - 1], run.state.far)} within its budget: ${run.final ? "what there is is shown" : "the rest comes when you let go"}`;
    facts.textContent = run.complete ? exact : `${exact}; ${cut}`;
    facts.title = run.audit ?? "";
  }

  function summary(run) {
    const end = run.far ? `ln L = ${number(run.log_loss[run.frames - 1], 5)}` : `loss ${number(run.loss[0], 3)} → ${number(run.loss[run.frames - 1], 3)}`;
    return `Exact run to ${time(run.last, run.far)}: ${end}, ${run.events.length} events.${run.complete ? "" : ` ${run.ended}.`}`;
  }

  model.on("msg:custom", (message) => on[message.kind]?.(message));
  model.send({ kind: "hello" });
  return () => root.remove();
}

export default { render };
