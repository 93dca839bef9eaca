"""A problem as its neurons see it: samples whose kinks rounding cannot tell apart on one line, in coordinates of their span, and neurons
that move as one (moving_as_one.py) as one.

A neuron moves within the span of the samples only, and one whose part there vanishes touches every kink, however long the rest of it
is. With orthonormal rows B of the span, w = (w B^T) B + rest, and the rest never changes, except that L2 makes it decay.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..arrays import Array, Indices
from ..dataset import SAME_SPAN, Dataset, find_lines
from ..events import Events
from ..network import Network, Weights
from ..problem import Problem
from .moving_as_one import MovingAsOne
from .state import flatten, layers_of, neurons_of, unflatten
from .tolerances import ALL_AXES, BALANCED, SAME_KINK, SAME_SAMPLE


class Span:
    """The `given` problem in coordinates of the span of its samples: the same object where nothing is to be left out, or if `whole`.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=3, widths=(2,))
    >>> given = rl.Problem(rl.Dataset([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0]], [1.0, -1.0]), net, net.init(scale=1.0, seed=0))
    >>> Span(given).problem.network.inputs
    1
    """

    def __init__(self, given: Problem, whole: bool = False) -> None:
        self.given = self.problem = given
        self.first_lines: Indices | None = None  # of the given problem, the first that each line here is made of
        self.as_one: MovingAsOne | None = None  # neurons of the given problem, where some move as one
        self.basis, self.rest = np.eye(given.x.shape[1]), np.zeros_like(given.weights[0])
        self.moved = 0  # samples that were put on the line of another
        if whole:
            return
        x = _on_lines(given.x)
        self.moved = int((x != given.x).any(axis=1).sum())
        kept, (first, second) = _span(x), given.weights
        same, inside = kept is None and x is given.x, first
        if not same:
            self.basis = self.basis if kept is None else kept
            inside = _balanced(first @ self.basis.T, first, second)
            self.rest = first - inside @ self.basis
        as_one = MovingAsOne(neurons_of((inside, second)))
        if len(as_one) < len(inside):
            self.as_one = as_one
        elif same:
            return
        network, weights = given.network, layers_of(as_one.theta)
        reduced = Network(len(self.basis), (len(as_one),), network.alpha, trainable=network.trainable)
        data = Dataset(given.x if same else x @ self.basis.T, given.y)
        self.problem = Problem(data, reduced, weights, given.loss, given.l2)
        if not same:
            _, places = np.unique(find_lines(self.problem.x).index, return_index=True)
            self.first_lines = find_lines(given.x).index[places]

    @property
    def said(self) -> dict[str, str]:
        """What a run says of samples that share kinks although they are not on one line."""
        if not self.moved:
            return {}
        who = "1 sample shares" if self.moved == 1 else f"{self.moved} samples share"
        return {"shared_kinks": f"{who} the kink of another whose direction is within {SAME_KINK:g}"}

    def full(self, theta: Array, t: float | Array = 0.0) -> Weights:
        """Weights of the given problem at times t from neurons (..., h, span + 1)."""
        w, a = layers_of(theta if self.as_one is None else self.as_one.each(theta))
        decay = self.given.l2 * self.given.network.trainable_layers[0]
        return w @ self.basis + np.multiply.outer(np.exp(-decay * np.asarray(t)), self.rest), a

    def rest_energy(self, times: Array) -> Array | float:
        """The integral of |grad L|^2 over the decay of the rest, up to each time."""
        if self.given.l2 == 0.0:
            return 0.0
        decay = self.given.l2 * self.given.network.trainable_layers[0]
        return np.asarray(-0.5 * decay * (self.rest**2).sum() * np.expm1(-2.0 * decay * times))

    def full_states(self, states: Array, times: Array) -> Array:
        """Flat weights (t, size) of the given problem from those in the span."""
        if self.problem is self.given:
            return states
        return flatten(self.full(neurons_of(unflatten(states, self.problem.network.shapes)), times))

    def full_events(self, events: Events | None) -> Events | None:
        """Events of the neurons and lines of the given problem; of lines that are one here, the first is named."""
        if events is not None and self.as_one is not None:
            events = self.as_one.events(events)
        if events is None or self.first_lines is None:
            return events
        return replace(events, line=np.where(events.line >= 0, self.first_lines[events.line], -1))


def _balanced(inside: Array, first: Array, second: Array) -> Array:
    """The part `inside` (h, span) the span of weights `first` (h, d), as long as a_h where it is so up to rounding.

    What the flow conserves is |w|^2 - a^2 of that part, and where it is zero a never changes its sign (kinks/balance.py). Rounding of the
    part is a share of |w| as a whole, which may be far larger.
    """
    seen, whole, outgoing = np.linalg.norm(inside, axis=1), np.linalg.norm(first, axis=1), np.abs(second[0])
    rounded = np.abs(seen**2 - outgoing**2) <= BALANCED * (whole * seen + outgoing**2)
    factors = np.where(rounded & (seen > 0.0), outgoing / np.where(seen > 0.0, seen, 1.0), 1.0)
    return np.asarray(factors[:, None] * inside)


def _span(x: Array) -> Array | None:
    """Orthonormal rows that span the rows of x, along its principal axes; None where x^T x shows, at a fraction of the cost, that the
    axes do as well.

    Where samples nearly span less, weights become large along the small axes, and only there: no other coordinates keep what is small.
    """
    if len(x) >= x.shape[1]:
        sizes = np.linalg.eigvalsh(x.T @ x)
        if sizes[0] > ALL_AXES * sizes[-1]:
            return None
    _, sizes, rows = np.linalg.svd(x, full_matrices=False)
    return np.asarray(rows[sizes > SAME_SPAN * sizes[0]])


def _on_lines(x: Array) -> Array:
    """Samples with those nearly on one line put there; x itself if nothing moved."""
    lines = find_lines(x, SAME_KINK)
    placed = lines.lengths[:, None] * lines.normals[lines.index]
    moved = np.abs(placed - x).max(axis=1) > SAME_SAMPLE * np.abs(lines.lengths)
    return np.where(moved[:, None], placed, x) if moved.any() else x
