// The state in the page's address, runs unpacked, and what can be read off them.

const NUMBERS = ["width", "depth", "alpha", "scale", "seed", "until"];
const ESCAPED = 0.8; // of the first loss, below which a plateau is over
const WORDS = ["start", "loss", "name", "note"];

export function toAddress(state, frame) {
  const query = new URLSearchParams();
  query.set("points", state.points.map((point) => point.map((value) => Number(value.toPrecision(7))).join(",")).join(";"));
  for (const name of [...NUMBERS, ...WORDS]) query.set(name, state[name]);
  query.set("far", state.far ? 1 : 0);
  query.set("frame", frame);
  return query.toString();
}

// The state in an address over `base`, or null where there is none; what is out of bounds is for the server to refuse.
export function fromAddress(text, base) {
  const query = new URLSearchParams(text);
  if (!query.has("points")) return null;
  const state = { ...base, points: query.get("points").split(";").map((point) => point.split(",").map(Number)) };
  if (state.points.some((point) => point.length !== 3 || !point.every(Number.isFinite))) return null;
  for (const name of NUMBERS) if (Number.isFinite(parseFloat(query.get(name)))) state[name] = Number(query.get(name));
  for (const name of WORDS) if (query.has(name)) state[name] = query.get(name);
  state.far = query.get("far") === "1";
  return { state, frame: query.has("frame") ? Number(query.get("frame")) : null };
}

function unpacked(text) {
  if (!text) return null;
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let k = 0; k < letters.length; k++) bytes[k] = letters.charCodeAt(k);
  return new Float32Array(bytes.buffer);
}

// A run as the page draws it.
export function readRun(document) {
  const frames = document.loss.length;
  const first = unpacked(document.first);
  const second = unpacked(document.second);
  const neurons = second.length / frames;
  let longest = 0;
  for (let k = 0; k < first.length; k += 2) longest = Math.max(longest, Math.hypot(first[k], first[k + 1]));
  const run = { ...document, frames, first, second, neurons, longest, field: unpacked(document.field) };
  run.far = document.state.far;
  run.deep = document.state.depth > 1;
  run.alpha = document.state.alpha;
  run.directions = run.field ? run.field.length / frames : 0;
  run.holds = holds(document.events);
  run.last = run.clock[frames - 1];
  return run;
}

// Stretches {neuron, kink, from, to} in which neurons are held.
function holds(events) {
  const open = new Map();
  const all = [];
  for (const [clock, neuron, kink, kind] of events) {
    const key = `${neuron}/${kink}`;
    if (kind === "hold") {
      const hold = { neuron, kink, from: clock, to: Infinity };
      open.set(key, hold);
      all.push(hold);
    } else if (kind === "release" && open.has(key)) {
      open.get(key).to = clock;
      open.delete(key);
    }
  }
  return all;
}

export function heldAt(run, frame) {
  const clock = run.clock[frame] ?? -Infinity;
  return run.holds.filter((hold) => hold.from <= clock && clock < hold.to);
}

// The output of the network at a point of the plane.
export function output(run, frame, x1, x2) {
  if (run.field) return Math.hypot(x1, x2) * around(run, frame, Math.atan2(x2, x1));
  let sum = 0;
  for (let k = 0; k < run.neurons; k++) {
    const at = frame * run.neurons + k;
    const pre = run.first[2 * at] * x1 + run.first[2 * at + 1] * x2;
    sum += run.second[at] * (pre > 0 ? pre : run.alpha * pre);
  }
  return sum;
}

function around(run, frame, angle) {
  const place = ((angle / (2 * Math.PI) + 1) % 1) * run.directions;
  const low = Math.floor(place) % run.directions;
  const share = place - Math.floor(place);
  const base = frame * run.directions;
  return (1 - share) * run.field[base + low] + share * run.field[base + ((low + 1) % run.directions)];
}

// Outputs on the unit circle at `count` angles: a bias-free network is linear along every ray, so they say everything.
export function profile(run, frame, count) {
  const values = new Float32Array(count);
  for (let k = 0; k < count; k++) {
    const angle = (2 * Math.PI * k) / count;
    values[k] = output(run, frame, Math.cos(angle), Math.sin(angle));
  }
  return values;
}

// The frame whose clock is nearest to a moment, at equal ratios.
export function frameAt(run, clock) {
  if (!(clock > 0)) return 0;
  let best = 1;
  for (let k = 2; k < run.frames; k++) {
    if (Math.abs(Math.log(run.clock[k] / clock)) < Math.abs(Math.log(run.clock[best] / clock))) best = k;
  }
  return Math.min(best, run.frames - 1);
}

// The frame of the escape from a plateau in which most neurons are held, the first such.
export function frameOfHolds(run) {
  let best = 0;
  let most = 0;
  for (let frame = 1; frame < run.frames; frame++) {
    const count = run.loss[frame] < ESCAPED * run.loss[0] ? heldAt(run, frame).length : 0;
    if (count > most) [best, most] = [frame, count];
  }
  return best;
}
