"""How far a prediction may be from the truth: what its theorem leaves out, and what computing it costs.

Errors of the loss are in units of its first value. From a start whose outputs are at most eps of the labels (`small_start`), a
theorem leaves out parts of the weights of relative size sqrt(eps). Where they act on the function to second order only, they
change pulls by eps at most; against a pull that is k times weaker than those of all samples together this is eps k, and the
loss is off by as much. Elsewhere it is off by sqrt(eps). The constants are not proven but measured: about three times the
largest error among hundreds of random problems, of which `tests/test_stated_errors.py` keeps some.
"""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..conditions import small_start
from ..problem import Problem

COMPUTED = 3e-8  # integration of a reduced flow and rounding
SECOND_ORDER, FIRST_ORDER = 6.0, 0.5


def first_loss(problem: Problem) -> float:
    """The loss of f = 0, which is that of a small start."""
    return float(np.mean(problem.loss.value(problem.y, np.zeros_like(problem.y))))


def computed_error(problem: Problem, loss: Array) -> Array:
    """The error (t,) of a theorem that is exact, for its loss (t,): what computing it costs."""
    return np.full(len(loss), COMPUTED * max(first_loss(problem), float(np.max(loss, initial=0.0))))


def second_order_error(problem: Problem, loss: Array, slowness: float = 1.0) -> Array:
    """The error (t,) of a theorem that leaves out what acts to second order only; `slowness` is k."""
    share = SECOND_ORDER * small_start(problem).measured * slowness
    return computed_error(problem, loss) + share * first_loss(problem)


def first_order_error(problem: Problem, loss: Array) -> Array:
    """The error (t,) of a theorem that leaves out what acts to first order."""
    share = FIRST_ORDER * float(np.sqrt(small_start(problem).measured))
    return computed_error(problem, loss) + share * first_loss(problem)
