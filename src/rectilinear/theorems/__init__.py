"""The papers' results, one module each; `predict` chooses the strongest that applies to a problem."""

from __future__ import annotations

from functools import partial

from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import HypothesisError, InputError, did_you_mean
from ..plugins import must_be, plugged_in
from ..prediction import Prediction
from ..problem import Problem, require_problem
from ..trajectory import check_times
from .class_max_margin import CLASS_MAX_MARGIN
from .deep_reduction import DEEP_REDUCTION
from .early_phase import EARLY_PHASE
from .fixed_layer import FIXED_LAYER
from .limit import LIMIT
from .low_rank_bias import LOW_RANK_BIAS
from .orthogonal import ORTHOGONAL
from .perturbed_symmetry import PERTURBED_SYMMETRY
from .symmetric_data import SYMMETRIC_DATA
from .theorem import Solution, Theorem
from .time_course import TIME_COURSE
from .two_neurons import TWO_NEURONS
from .xor import XOR

_ALL: tuple[Theorem, ...] = (
    LIMIT,
    TIME_COURSE,
    SYMMETRIC_DATA,
    EARLY_PHASE,
    TWO_NEURONS,
    DEEP_REDUCTION,
    XOR,
    ORTHOGONAL,
    PERTURBED_SYMMETRY,
    CLASS_MAX_MARGIN,
    FIXED_LAYER,
    LOW_RANK_BIAS,
)
# hypotheses of which data that are not of their kind are never near
SPECIAL = {"xor_samples", "orthogonal_inputs", "orthogonally_separable", "nearly_orthogonal"}
THEOREMS: dict[str, Theorem] = {theorem.name: theorem for theorem in _ALL}

__all__ = ["THEOREMS", "Solution", "Theorem", "known_theorems", "named_theorem", "predict"]


def known_theorems() -> dict[str, Theorem]:
    """The theorems by name: `THEOREMS`, then those of other packages (see `rectilinear.plugins`)."""
    return THEOREMS | plugged_in("theorems", THEOREMS, partial(must_be, Theorem))


def named_theorem(name: str) -> Theorem:
    """The theorem of that name, or a sentence that lists the names there are."""
    known = known_theorems()
    if name not in known:
        raise InputError(f"theorem must be one of {', '.join(known)}, found {name!r}{did_you_mean(name, known)}")
    return known[name]


def predict(problem: Problem, times: ArrayLike, theorem: str | None = None, force: bool = False) -> Prediction:
    """The training run of `problem` at `times` (rising, the last may be infinity) as a theorem predicts it.

    Without `theorem`, the strongest theorem that applies is used. With it, that one is: where one of its hypotheses fails it
    refuses with what was required, what was found and what breaks, unless `force=True`, which goes on and says so.

    >>> import numpy as np
    >>> from rectilinear import Network, datasets
    >>> data, net = datasets.sine_teacher(inputs=5, pairs=50), Network(inputs=5, widths=(100,))
    >>> problem = Problem(data, net, net.init(scale=1e-8, seed=0))
    >>> prediction = predict(problem, times=[0.0, 30.0, np.inf])
    >>> prediction.theorem
    'two_neurons'
    >>> best = np.linalg.lstsq(data.x, data.y)[0]  # in the end it is least squares
    >>> bool(np.allclose(prediction.linear_map[-1], best))
    True
    """
    require_problem("predict", problem)
    instants = check_times(times, allow_infinity=True)
    if theorem is not None:
        return named_theorem(theorem).predict(problem, instants, force)
    if force:
        raise InputError("force=True needs theorem=...: say which theorem to use beyond its hypotheses.")
    for candidate in sorted(known_theorems().values(), key=lambda known: -known.strength):
        findings = candidate.findings(problem, instants)
        if all(finding.holds for finding in findings):
            return candidate.prediction(problem, instants, findings)
    raise HypothesisError(_no_theorem(problem, instants))


def _no_theorem(problem: Problem, instants: Array) -> str:
    failures = {
        known.name: [finding for finding in known.findings(problem, instants) if not finding.holds]
        for known in sorted(known_theorems().values(), key=lambda known: -known.strength)
    }
    near = {name: failed for name, failed in failures.items() if not SPECIAL & {finding.name for finding in failed}}
    nearest = min(near, key=lambda name: len(near[name]))
    required = ", ".join(f"{finding.name} ({finding.sentence.rstrip('.')})" for finding in near[nearest])
    return (
        f"no theorem applies to this problem; the nearest is {nearest}, which requires {required}; simulate the problem, or ask "
        "diagnose what the others require."
    )
