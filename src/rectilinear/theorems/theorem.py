"""A Theorem: where it comes from, what it assumes, what breaks without each hypothesis, and what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..arrays import Array
from ..conditions import Finding, true_or_not
from ..deprecation import warn_renamed
from ..errors import HypothesisError
from ..prediction import THEOREM, Prediction
from ..problem import Problem
from ..reduced.small_network import SmallNetwork
from ..trajectory import Status


@dataclass(frozen=True, eq=False)
class Solution:
    """What a theorem computes: the loss (t,) without regularisation and, where it gives them, map, weights and the rest.

    The fields mean what they mean in `Prediction`; `statistics` counts what the computation cost or certifies it.
    """

    loss: Array
    linear_map: Array | None = None
    direction: Array | None = None
    neglected: Array | None = None
    error_bound: Array | None = None
    loss_error: Array | None = None
    small: SmallNetwork | None = None
    weights: tuple[Array, ...] = ()
    statistics: Mapping[str, Any] = field(default_factory=dict)


def limit_only(problem: Problem) -> tuple[float, float]:
    """The window of a theorem that speaks of the limit alone."""
    return np.inf, np.inf


def finite_times(problem: Problem) -> tuple[float, float]:
    """The window of a theorem that does not know the limit."""
    return 0.0, float(np.finfo(np.float64).max)


def any_time(problem: Problem) -> tuple[float, float]:
    """The window of a theorem that speaks of all times, the limit included."""
    return 0.0, np.inf


@dataclass(frozen=True, eq=False)
class Theorem:
    """One result of the papers. `strength` ranks theorems that apply to the same problem: `predict` takes the largest.

    `hypotheses(problem)` measures what is assumed; `breaks[name]` says what goes wrong without the finding of that name;
    `window(problem)` is the first and last time the theorem speaks of; `solve(problem, times)` is its mathematics, free of
    checks; without a hypothesis named in `essential` its formulas mean nothing, and it cannot be forced. `basis` says what
    the prediction rests on, where that is less than a theorem.
    """

    name: str
    title: str
    source: str
    strength: int
    hypotheses: Callable[[Problem], list[Finding]]
    breaks: Mapping[str, str]
    solve: Callable[[Problem, Array], Solution]
    window: Callable[[Problem], tuple[float, float]] = any_time
    essential: tuple[str, ...] = ()
    basis: str = THEOREM

    def findings(self, problem: Problem, times: Array) -> list[Finding]:
        """The hypotheses measured; the window of times is looked at only where the others hold, as it may need them."""
        findings = self.hypotheses(problem)
        if self.window is not any_time and all(finding.holds for finding in findings):
            findings.append(_within_window(self.window(problem), times))
        return findings

    def predict(self, problem: Problem, times: Array, force: bool = False) -> Prediction:
        """The run this theorem predicts, or a HypothesisError that says what was required, found, and would break."""
        findings = self.findings(problem, times)
        failed = [finding for finding in findings if not finding.holds]
        if any(finding.name in self.essential for finding in failed) or (failed and not force):
            raise HypothesisError(self._refusal(failed))
        return self.prediction(problem, times, findings, force)

    def prediction(self, problem: Problem, times: Array, findings: list[Finding], force: bool = False) -> Prediction:
        """The run by this theorem, whatever the findings say."""
        solution = self.solve(problem, times)
        return Prediction(
            problem=problem,
            times=times,
            loss=solution.loss,
            weights=solution.weights,
            status=Status.PREDICTED,
            statistics=solution.statistics,
            provenance={"theorem": self.name, "source": self.source, "basis": self.basis},
            theorem=self.name,
            source=self.source,
            findings=tuple(findings),
            forced=force,
            predicted_map=solution.linear_map,
            direction=solution.direction,
            neglected=solution.neglected,
            error_bound=solution.error_bound,
            loss_error=solution.loss_error if all(finding.holds for finding in findings) else None,
            small=solution.small,
        )

    def foretell(self, problem: Problem, times: Array, findings: list[Finding], force: bool = False) -> Prediction:
        """The old name of `prediction`."""
        warn_renamed("Theorem.foretell", "Theorem.prediction")
        return self.prediction(problem, times, findings, force)

    def _refusal(self, failed: list[Finding]) -> str:
        reasons = " ".join(
            f"{finding.name} is required; found: {finding.sentence} Without it {self.breaks[finding.name]}."
            for finding in failed
        )
        forced = "" if any(finding.name in self.essential for finding in failed) else ", or see it anyway with force=True"
        return f"{self.name} ({self.source}) does not apply: {reasons} Simulate instead{forced}."

    def __repr__(self) -> str:
        return f"Theorem {self.name}: {self.title} ({self.source})"


WITHIN_WINDOW = "within_window"


def _within_window(window: tuple[float, float], times: Array) -> Finding:
    first, last = window
    holds = bool(times[0] >= first and times[-1] <= last)
    span = "t = infinity only" if first == np.inf else f"times from {first:g} to {last:g}"
    sentence = f"it speaks of {span}, asked for {times[0]:g} to {times[-1]:g}."
    return true_or_not(WITHIN_WINDOW, holds, sentence)
