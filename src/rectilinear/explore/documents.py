"""Documents that the page draws: an exact run, and what theory says of it, as plain values ready for JSON."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..diagnose import Diagnosis, diagnose
from ..diagnose.outlook import mirrored_prediction
from ..errors import RectilinearError
from ..events import Kind
from ..flow import simulate
from ..long_trajectory import LongTrajectory
from ..prediction import Prediction
from ..problem import Problem
from ..theorems import predict
from ..trajectory import Status, Trajectory
from .state import OWN, State

Document = dict[str, Any]
Progress = Callable[[float, str], None]

FRAMES, PREVIEW_FRAMES = 150, 60  # moments of a run, at equal ratios of time
DECADES = 3.5  # of ordinary time that the page shows
FIRST_LOG10 = 0.1  # log10 t at which far runs begin
DIRECTIONS = 360  # in which the output of deeper networks is told; a bias-free network is linear along each ray
MOST_EVENTS = 2_000
PREVIEW: dict[str, Any] = {"rtol": 1e-4, "max_seconds": 0.5}  # while something is being dragged: errors far below a pixel
FINAL: dict[str, Any] = {"rtol": 1e-9, "max_seconds": 10.0}
LONGEST = 10.0  # seconds of any run


def run_document(state: State, final: bool = True, progress: Progress | None = None) -> Document:
    """The exact run of a state: `clock` (t,), loss (t,), first-layer weights and signs of all neurons, events.

    `clock` is t, and log10 t for far runs; either way its moments stand at equal ratios after the first, which is the start.
    `first` holds float32 numbers (t, h, 2) in base64 and `second` (t, h): outgoing weights, or for deeper networks the products of
    all later ones, with `field` (t, directions) of the output on the unit circle.
    """
    problem = state.problem()
    run = _simulated(problem, state, final, progress)
    deep = problem.network.layers > 2
    document = {
        "state": state.to_json(),
        "final": final,
        "status": run.status.name,
        "ended": run.status.value,
        "complete": run.status in (Status.FINISHED, Status.STATIONARY, Status.LOSS_REACHED),
        "rtol": run.provenance["rtol"],
        "seconds": run.statistics["seconds"],
        "clock": _clock(run).tolist(),
        "loss": run.loss.tolist(),
        "log_loss": run.log_loss.tolist() if isinstance(run, LongTrajectory) else None,
        "first": _packed(run.weights[0]),
        "second": _packed(_outgoing(run)),
        "field": _packed(_around(run)) if deep else None,
        "events": _events(run),
        "audit": None if run.audit is None else str(run.audit),
        "linear_loss": _linear_loss(problem),
        "code": code_for(state),
    }
    return {"kind": "run", **_finite(document)}


def code_for(state: State) -> str:
    """Python that repeats the run.

    >>> print(code_for(State(points=((1.0, 0.0, 1.0),))).splitlines()[0])
    import numpy as np
    """
    points = ",\n".join(f"    [{a!r}, {b!r}, {y!r}]" for a, b, y in state.points)
    horizon = "log10_times" if state.far else "times"
    first = FIRST_LOG10 if state.far else state.until / 10**DECADES
    grid = f"np.geomspace({first!r}, {state.until!r}, {FRAMES - 1})"
    start = "-np.inf" if state.far else "0.0"
    return f"""import numpy as np
import rectilinear as rl

points = np.array([  # x1, x2, y
{points},
])
data = rl.Dataset(points[:, :2], points[:, 2])
net = rl.Network(inputs=2, widths={(state.width,) * state.depth!r}, alpha={state.alpha!r})
start = {_start_code(state)}
problem = rl.Problem(data, net, start, loss={state.loss!r})

run = rl.simulate(problem, {horizon}=np.append({start}, {grid}), rtol={FINAL["rtol"]!r})
print(run)
print(rl.diagnose(problem))
"""


def _start_code(state: State) -> str:
    if state.weights is not None and state.start == OWN:
        return "(" + ", ".join(f"np.array({layer.tolist()})" for layer in state.weights) + ")"
    return f"net.init(scale={state.scale!r}, seed={state.seed}, start={state.start!r})"


def theory_document(state: State, progress: Progress | None = None) -> Document:
    """What is known without training: hypotheses measured, theorems that apply, the predicted curve and plateau."""
    problem = state.problem()
    found = diagnose(problem, progress=progress)
    plateau = found.outlook.plateau
    document = {
        "state": state.to_json(),
        "findings": [
            {
                "name": finding.name,
                "holds": finding.holds,
                "measured": finding.measured,
                "threshold": finding.threshold,
                "sentence": finding.sentence,
                "serves": _served(found, finding.name),
            }
            for finding in found.findings.values()
        ],
        "theorems": [
            {"name": reading.theorem.name, "title": reading.theorem.title, "source": reading.theorem.source}
            for reading in found.applicable
        ],
        "ending": str(found.outlook.ending),
        "plateau": None if plateau is None else {"height": plateau.height, "begins": plateau.begins, "ends": plateau.ends},
        "curve": None if state.far else _curve(problem, found, state),
    }
    return {"kind": "theory", **_finite(document)}


def glance_document(state: State) -> Document:
    """What theory says within milliseconds: the loss if every point had its mirror image, by the two-neuron network."""
    told = None if state.far else mirrored_prediction(state.problem(), moments(state.until, PREVIEW_FRAMES))
    document = {"state": state.to_json(), "curve": None if told is None else _told(told, mirrored=True)}
    return {"kind": "glance", **_finite(document)}


def _simulated(problem: Problem, state: State, final: bool, progress: Progress | None) -> Trajectory:
    budget, frames = (FINAL, FRAMES) if final else (PREVIEW, PREVIEW_FRAMES)
    if problem.network.layers > 2:
        budget = {**budget, "method": "kinks"}  # steady costs; those of impulses vary widely between small networks
    if state.far:
        asked = np.append(-np.inf, np.geomspace(min(FIRST_LOG10, state.until / 2), state.until, frames - 1))
        return simulate(problem, log10_times=asked, **budget, progress=progress)
    return simulate(problem, moments(state.until, frames), **budget, progress=progress)


def moments(until: float, frames: int = FRAMES) -> Array:
    """The start and then times at equal ratios, the last being `until`, (t,)."""
    return np.append(0.0, np.geomspace(until / 10**DECADES, until, frames - 1))


def _clock(run: Trajectory) -> Array:
    return run.log10_times if isinstance(run, LongTrajectory) else run.times


def _outgoing(run: Trajectory) -> Array:
    """What multiplies each first-layer neuron, (t, h): W_2, or W_L ... W_2 where there are more layers."""
    product = run.weights[-1]
    for layer in reversed(run.weights[1:-1]):
        product = product @ layer
    return np.asarray(product[:, 0, :])


def _around(run: Trajectory) -> Array:
    """f on the unit circle, (t, directions)."""
    angles = np.arange(DIRECTIONS) * (2.0 * np.pi / DIRECTIONS)
    return run.outputs(np.column_stack([np.cos(angles), np.sin(angles)]))


def _events(run: Trajectory) -> list[list[Any]]:
    """(clock, neuron, normal of the kink or None, kind) of the first events; of deeper networks without their kinks."""
    if run.events is None:
        return []
    events, deep = run.events, run.problem.network.layers > 2
    normals = run.problem.data.lines.normals
    kinks = [None if deep or line < 0 else normals[line].round(6).tolist() for line in events.line[:MOST_EVENTS]]
    kinds = [Kind(kind).name.lower() for kind in events.kind[:MOST_EVENTS]]
    return [
        [float(t), int(h), kink, kind]
        for t, h, kink, kind in zip(events.time[:MOST_EVENTS], events.neuron[:MOST_EVENTS], kinks, kinds, strict=True)
    ]


def _linear_loss(problem: Problem) -> float | None:
    """The loss of the best linear fit, where half of the plateau's story is: square loss only."""
    if problem.loss.name != "square":
        return None
    fit = np.linalg.lstsq(problem.data.x, problem.y, rcond=None)[0]
    return float(np.mean((problem.y - problem.data.x @ fit) ** 2) / 2.0)


def _served(found: Diagnosis, name: str) -> list[str]:
    """The theorems that assume the hypothesis of this name."""
    return [reading.theorem.title for reading in found.theorems if any(known.name == name for known in reading.findings)]


def _curve(problem: Problem, found: Diagnosis, state: State) -> Document | None:
    """The predicted loss; that of the mirrored data where no theorem speaks of the data as they are."""
    outlook = found.outlook
    told = outlook.prediction or outlook.mirrored
    if told is None:
        return None
    return _told(_at_moments(told, state), mirrored=outlook.prediction is None)


def _told(told: Prediction, mirrored: bool) -> Document:
    """A predicted loss as the page draws it, without moments of which the prediction says nothing."""
    return {
        "theorem": told.theorem,
        "source": told.source,
        "mirrored": mirrored,
        "clock": told.times.tolist(),
        "loss": np.where(told.says_something, told.loss, np.nan).tolist(),
    }


def _at_moments(told: Prediction, state: State) -> Prediction:
    """The same prediction at the page's moments, if it speaks of all of them."""
    try:
        return predict(told.problem, moments(state.until), theorem=told.theorem)
    except RectilinearError:
        return told


def _packed(numbers: ArrayLike) -> str:
    """float32, little-endian, base64: what a page reads fastest."""
    return b64encode(np.ascontiguousarray(numbers, dtype="<f4").tobytes()).decode("ascii")


def _finite(value: Any) -> Any:
    """Plain values for JSON, with infinite and undefined numbers as None."""
    if isinstance(value, dict):
        return {key: _finite(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not isfinite(value) else value
