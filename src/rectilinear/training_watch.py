"""Watch a PyTorch model while it trains: how linear it is, and how far from the gradient flow that it approximates.

Plain gradient descent with learning rate eta follows gradient flow: after k steps it is near the flow at t = eta k. The loss here is
<(y - f)^2>/2, half of torch's MSELoss: a loop that minimises MSELoss moves twice as fast, t = 2 eta k.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from . import measures
from .arrays import Array
from .dataset import Dataset
from .diagnose import PlateauForecast, diagnose
from .errors import InputError
from .flow import simulate
from .linearity import as_function
from .losses import Loss, named_loss
from .problem import Problem
from .torch_models import from_torch
from .trajectory import Trajectory

if TYPE_CHECKING:
    import pandas

FLOW_SECONDS = 60.0  # given to the simulation that the training is compared with


@dataclass(frozen=True)
class Snapshot:
    """The model after `step` steps, at flow time `time`; what its form does not give is nan.

    `linear_share`: share of <f^2> that the best linear map explains. `even_fraction`: <f_e^2> / (<f_e^2> + <f_o^2>) of the even
    and odd parts. `rank_one_residual`: 0 where all neurons are aligned (Assumption 4 of Zhang et al.; two layers). `patterns`:
    different sets of samples on which first-layer neurons are active.
    """

    step: int
    time: float
    loss: float
    linear_share: float
    even_fraction: float
    rank_one_residual: float
    patterns: float


@dataclass(eq=False, repr=False)
class TrainingWatch:
    """Call it after every step of a training loop, `watch(step)`; it keeps what it sees at the chosen steps. See `watch`."""

    model: Any
    data: Dataset
    learning_rate: float
    loss: Loss
    every: int
    problem: Problem | None
    why_no_problem: str = ""
    snapshots: list[Snapshot] = field(default_factory=list)
    outputs: list[Array] = field(default_factory=list)  # f on the data at each snapshot

    def __call__(self, step: int) -> Snapshot | None:
        """Look at the model if it is time to: at every `every`-th step."""
        return self.look(step) if step % self.every == 0 else None

    def look(self, step: int) -> Snapshot:
        """Look at the model now."""
        if self.snapshots and step <= self.snapshots[-1].step:
            raise InputError(
                f"steps must rise, found {step} after {self.snapshots[-1].step}; make a new watch for a new training."
            )
        function = as_function(self.model)
        f, mirrored = (np.asarray(function(x), dtype=np.float64).reshape(-1) for x in (self.data.x, -self.data.x))
        residual, patterns = self._structure()
        seen = Snapshot(
            step,
            self.learning_rate * step,
            float(np.mean(self.loss.value(self.data.y, f))),
            _linear_share(self.data.x, f),
            _ratio(float(np.sum((f + mirrored) ** 2)), 2 * float(np.sum(f**2 + mirrored**2))),
            residual,
            patterns,
        )
        self.snapshots.append(seen)
        self.outputs.append(f)
        return seen

    def _structure(self) -> tuple[float, float]:
        if self.problem is None:
            return np.nan, np.nan
        network, weights = from_torch(self.model)
        residual = measures.rank_one_residual(network, weights) if network.layers == 2 else np.nan
        return float(residual), float(measures.distinct_neuron_patterns(network, weights, self.data.x))

    @cached_property
    def plateau(self) -> PlateauForecast | None:
        """Where the theory expects the loss to rest on the linear solution, if it does."""
        return None if self.problem is None else diagnose(self.problem).outlook.plateau

    def flow(self) -> Trajectory:
        """Gradient flow from the weights the model had at first, at the times of the snapshots."""
        if self.problem is None:
            raise InputError(f"the flow of this model is not known: {self.why_no_problem}")
        return simulate(self.problem, [seen.time for seen in self.snapshots], max_seconds=FLOW_SECONDS)

    def distances(self) -> Array:
        """Distance of the model from the flow at t = learning_rate x steps: rms of f - f_flow on the data over rms y, (snapshots,)."""
        told = self.flow().outputs()
        size = float(np.sqrt(np.mean(self.data.y**2))) or 1.0
        return np.array([np.sqrt(np.mean((f - g) ** 2)) / size for f, g in zip(self.outputs, told, strict=False)])

    def to_pandas(self) -> pandas.DataFrame:
        """One row per snapshot."""
        import pandas

        return pandas.DataFrame([vars(seen) for seen in self.snapshots])

    def __repr__(self) -> str:
        lines = [f"Training on {self.data.name}, learning rate {self.learning_rate:g}"]
        lines.append("    step       time       loss  linear share  even fraction  rank-one residual  patterns")
        lines += [
            f"{seen.step:>8} {seen.time:>10.4g} {seen.loss:>10.4g} {seen.linear_share:>13.4g} {seen.even_fraction:>14.4g} "
            f"{seen.rank_one_residual:>18.4g} {seen.patterns:>9.4g}"
            for seen in self.snapshots
        ]
        if self.problem is None:
            lines += textwrap.wrap(f"alignment, patterns and flow are not known: {self.why_no_problem}", 118)
        elif (plateau := self.plateau) is not None:
            until = "for good" if plateau.ends == np.inf else f"until about t = {plateau.ends:.4g}"
            lines.append(f"on the linear plateau (loss {plateau.height:.4g}) from t = {plateau.begins:.4g} {until}")
        return "\n".join(lines)


def watch(
    model: Any, data: Dataset, learning_rate: float, *, every: int = 100, loss: str | Loss = "square"
) -> TrainingWatch:
    """Watch a PyTorch `model` train on `data`; call what is returned after every step.

    `learning_rate` is that of full-batch gradient descent on the mean of `loss` ("square" is half of torch's MSELoss: a loop on
    MSELoss has twice the learning rate in these units). At every `every`-th step it keeps loss, linearity and, for models that
    `from_torch` takes, alignment and activation patterns; `distances()` compares with gradient flow, `plateau` says how long the
    model stays on the linear solution, `to_pandas()` gives a table.

        seen = rl.watch(model, data, learning_rate=0.05, every=50)
        for step in range(1001):
            seen(step)
            ...  # a step of the optimiser
        print(seen)
    """
    if not isinstance(data, Dataset):
        raise InputError(f"watch takes a Dataset, found {type(data).__name__}; write Dataset(x, y).")
    if not learning_rate > 0 or every < 1:
        raise InputError(f"learning_rate and every must be positive, found {learning_rate!r} and {every!r}.")
    try:
        problem, why_not = Problem(data, *from_torch(model), named_loss(loss)), ""
    except InputError as error:
        problem, why_not = None, str(error)
    return TrainingWatch(model, data, float(learning_rate), named_loss(loss), every, problem, why_not)


def _linear_share(x: Array, f: Array) -> float:
    fitted = x @ np.linalg.lstsq(x, f, rcond=None)[0]
    return _ratio(float(np.sum(fitted**2)), float(np.sum(f**2)))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else np.nan
