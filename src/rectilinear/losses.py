"""Losses l(y, f) of a label y and an output f, in forms that stay finite for margins of any size.

| name          | l(y, f)             | pull -dl/df           | curvature d2l/df2            |
|---------------|---------------------|-----------------------|------------------------------|
| `square`      | (y - f)^2 / 2       | y - f                 | 1                            |
| `logistic`    | ln(1 + e^{-y f})    | y expit(-y f)         | expit(y f) expit(-y f)       |
| `exponential` | e^{-y f}            | y e^{-y f}            | e^{-y f}                     |

Zhang et al. (Section 2) print the logistic loss with the opposite sign in the exponent; this is the form that trains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from .arrays import Array
from .errors import InputError, did_you_mean

FAR_MARGIN = 30.0  # beyond it ln(1 + e^{-m}) equals e^{-m} to double precision (next term e^{-2m}/2)


@dataclass(frozen=True)
class Loss:
    """A loss with its derivatives; `log_value` is ln l as a function of the margin m = y f (classification only).

    >>> import numpy as np
    >>> logistic = named_loss("logistic")
    >>> float(logistic.value(np.array(1.0), np.array(0.0)))
    0.6931471805599453
    >>> float(logistic.log_value(np.array(1e5)))
    -100000.0
    """

    name: str
    code: int  # how compiled kernels know it
    value: Callable[[Array, Array], Array]
    pull: Callable[[Array, Array], Array]
    curvature: Callable[[Array, Array], Array]
    is_classification: bool
    _log_value: Callable[[Array], Array] | None = None

    def log_value(self, margin: Array) -> Array:
        """ln l at margin m = y f, finite for every finite margin: -1e5 and 1e5 alike."""
        if self._log_value is None:
            raise InputError(
                f"log_value needs a classification loss (logistic or exponential), found {self.name!r}: "
                "the square loss is not a function of the margin."
            )
        return self._log_value(np.asarray(margin, dtype=np.float64))

    def __str__(self) -> str:
        return self.name


# Functions with names, so that losses, and whatever holds one, can be pickled and sent to other processes.


def _square(y: Array, f: Array) -> Array:
    return 0.5 * (y - f) ** 2


def _square_pull(y: Array, f: Array) -> Array:
    return y - f


def _square_curvature(y: Array, f: Array) -> Array:
    return np.ones_like(f)


def _logistic(y: Array, f: Array) -> Array:
    return np.logaddexp(0.0, -y * f)


def _logistic_pull(y: Array, f: Array) -> Array:
    return np.asarray(y * scipy.special.expit(-y * f))


def _logistic_curvature(y: Array, f: Array) -> Array:
    return np.asarray(scipy.special.expit(y * f) * scipy.special.expit(-y * f))


def _log_logistic(margin: Array) -> Array:
    near = np.minimum(margin, FAR_MARGIN)
    return np.where(margin > FAR_MARGIN, -margin, np.log(np.logaddexp(0.0, -near)))


def _exponential(y: Array, f: Array) -> Array:
    with np.errstate(over="ignore"):  # a margin below -709 truly has a loss beyond the float range; log_value has it
        return np.exp(-y * f)


def _exponential_pull(y: Array, f: Array) -> Array:
    return y * _exponential(y, f)


SQUARE = Loss(
    name="square",
    code=0,
    value=_square,
    pull=_square_pull,
    curvature=_square_curvature,
    is_classification=False,
)
LOGISTIC = Loss(
    name="logistic",
    code=1,
    value=_logistic,
    pull=_logistic_pull,
    curvature=_logistic_curvature,
    is_classification=True,
    _log_value=_log_logistic,
)
EXPONENTIAL = Loss(
    name="exponential",
    code=2,
    value=_exponential,
    pull=_exponential_pull,
    curvature=_exponential,  # y^2 = 1
    is_classification=True,
    _log_value=np.negative,
)

ALIASES = {
    "mse": "square",
    "l2": "square",
    "bce": "logistic",
    "cross_entropy": "logistic",
    "log": "logistic",
    "exp": "exponential",
}
LOSSES = {loss.name: loss for loss in (SQUARE, LOGISTIC, EXPONENTIAL)}


def named_loss(name: str | Loss) -> Loss:
    """The loss of that name, or a sentence that lists the names there are.

    >>> named_loss("square").code
    0
    """
    if isinstance(name, Loss):
        return name
    if name not in LOSSES:
        raise InputError(f"loss must be one of {', '.join(LOSSES)}, found {name!r}{did_you_mean(name, LOSSES, ALIASES)}")
    return LOSSES[name]
