"""How linear is a function: any callable, on inputs the user has, with confidence intervals from that sample.

A bias-free ReLU network is positively homogeneous, f(s x) = s f(x) for s > 0, and with two layers it is a linear map plus an
even function (Zhang et al., Theorem 1). Each part of that sentence is a number here, for networks of any kind.
"""

from __future__ import annotations

import copy
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .arrays import Array
from .errors import InputError, is_number
from .jsonable import json_text

Function = Callable[[Array], ArrayLike]

SCALES = (0.5, 2.0)  # the s at which f(s x) = s f(x) is tried
LINES = 200  # rays and segments on which linear pieces are counted
CELLS = 128  # equal parts of each of them
RESAMPLES = 1000  # bootstrap samples; the ends of a 95 % interval are then good to 0.7 % of probability
ROUNDED = 12  # digits of a ratio that cards show: what rounding leaves reads as 0
LARGEST = 1e100  # its square still is a number
SMOOTH = 40.0  # pieces from which on a function is called smooth: hardly any two of the cells lie on one line
CLOSE = 1e-4  # relative distance of points between which hardly anything but rounding differs, in single precision too
SAFETY = 30.0  # how much larger than its median rounding may be
BLOCK = 4_000_000  # numbers handed to f, or drawn, at once
FITTED_WHATEVER_F = 1.0 - 1e-9  # leverage of a sample that the linear fit goes through for every f


@dataclass(frozen=True)
class Estimate:
    """A number with its confidence interval.

    >>> Estimate(0.5, 0.4321, 0.61)
    0.5 [0.432, 0.61]
    """

    value: float
    low: float
    high: float

    def __repr__(self) -> str:
        return "undefined" if math.isnan(self.value) else f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"

    def __round__(self, digits: int) -> Estimate:
        return Estimate(*(round(number, digits) + 0.0 for number in (self.value, self.low, self.high)))  # + 0.0: never -0


@dataclass(frozen=True, eq=False)
class Linearity:
    """How far f is from a linear map on samples x (n, d); averages <.> are over x, nothing is centred.

    `homogeneity_defect`   rms of f(s x)/s - f(x) over x and s = 1/2, 2, relative to rms f(x); 0 for bias-free networks
    `even_energy`          <f_e^2> of f_e(x) = (f(x) + f(-x))/2
    `odd_energy`           <f_o^2> of f_o(x) = (f(x) - f(-x))/2
    `even_fraction`        <f_e^2> / (<f_e^2> + <f_o^2>)
    `r_squared`            share of <f^2> that the best linear map explains, corrected for its d fitted numbers
    `pieces_from_origin`   linear pieces of t -> f(t x), 0 <= t <= 2, mean over samples; 1 where f is homogeneous
    `pieces_between`       linear pieces of f on the segment between two samples, mean over pairs; 1 where f is linear
    `linear_map`           v (d,) that minimises <(f - v.x)^2>, of least norm, between `map_low` and `map_high` (each d)

    An interval has the given `confidence`. It speaks of fresh inputs from where x came from, each sample an independent draw,
    and of this f. Pieces are counted on a grid of 128 cells: a lower bound, exact for kinks two cells apart; a smooth
    nonlinear function has up to 65. What has no meaning is nan: ratios where f vanishes on all of x; `r_squared` where there
    are no more samples than inputs, which a linear map fits whatever f is.
    """

    samples: int
    inputs: int
    homogeneity_defect: Estimate
    even_energy: Estimate
    odd_energy: Estimate
    even_fraction: Estimate
    r_squared: Estimate
    pieces_from_origin: Estimate
    pieces_between: Estimate
    linear_map: Array
    map_low: Array
    map_high: Array
    confidence: float
    seed: int

    @property
    def estimates(self) -> dict[str, Estimate]:
        """The numbers with intervals by name."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Estimate)}

    def __repr__(self) -> str:
        rows = {
            "homogeneity": f"defect {round(self.homogeneity_defect, ROUNDED)}",
            "even part": f"fraction {round(self.even_fraction, ROUNDED)}, energy {self.even_energy}",
            "odd part": f"energy {self.odd_energy}",
            "linear map": f"R^2 {round(self.r_squared, ROUNDED)}, norm {np.linalg.norm(self.linear_map):.4g}",
            "pieces": f"{_pieces_in_words(self.pieces_from_origin)} along rays from the origin, "
            f"{_pieces_in_words(self.pieces_between)} between samples",
        }
        title = f"Linearity on {self.samples} samples, {self.inputs} inputs, {100 * self.confidence:g} % intervals"
        return "\n".join([title, *(f"  {name:<12} {text}" for name, text in rows.items())])

    def to_json(self) -> str:
        """Everything as JSON; nan, which JSON does not have, is null."""
        numbers = {name: vars(value) for name, value in self.estimates.items()}
        maps = {name: getattr(self, name) for name in ("linear_map", "map_low", "map_high")}
        size = {"samples": self.samples, "inputs": self.inputs, "confidence": self.confidence, "seed": self.seed}
        return json_text({**size, **numbers, **maps})


def linearity(f: Function, x: ArrayLike, *, confidence: float = 0.95, seed: int = 0, output: int | None = None) -> Linearity:
    """Measure how linear f is on samples x (n, d); f takes (any n, d) and returns (n,) or (n, 1).

    f may be a PyTorch module of any precision: a copy of it is evaluated in double precision and in eval mode. Of several
    outputs `output` chooses one.

    Intervals are percentiles of 1000 bootstrap samples drawn with `seed`; those of the linear map and of R^2 use the fit's
    influence function, so that f is fitted once.

    >>> import numpy as np, rectilinear as rl
    >>> net = rl.Network(inputs=3, widths=(50,))
    >>> weights = net.init(scale=1.0, seed=0)
    >>> x = np.random.default_rng(0).standard_normal((200, 3))
    >>> found = linearity(lambda inputs: net.output(weights, inputs), x)
    >>> found.pieces_from_origin
    1 [1, 1]
    >>> found.homogeneity_defect.high < 1e-12  # no biases
    True
    >>> found.r_squared.high < 1 and found.pieces_between.low > 1  # and not linear
    True
    """
    x = _checked_inputs(x)
    if not is_number(confidence) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie strictly between 0 and 1, found {confidence!r}.")
    if not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InputError(f"seed must be a whole number >= 0, found {seed!r}.")
    rng = np.random.default_rng(seed)
    f = as_function(f, output)
    here, rounding = _evaluated(f, x)
    noise = _noise(f, x)
    mirrored = _evaluated(f, -x)[0]
    scaled = np.mean([(_evaluated(f, s * x)[0] / s - here) ** 2 for s in SCALES], axis=0)
    even, odd = ((here + mirrored) / 2) ** 2, ((here - mirrored) / 2) ** 2
    fit, missed, influence = _linear_fit(x, here)

    columns = np.column_stack([here**2, scaled, even, odd, missed, ~np.isnan(missed), influence])
    columns[:, 4] = np.nan_to_num(missed)
    means, drawn = columns.mean(axis=0), _bootstrap_means(columns, rng)

    def estimated(statistic: Callable[[Array], Array]) -> Estimate:
        return _estimate(statistic(means), statistic(drawn), confidence)

    return Linearity(
        samples=len(x),
        inputs=x.shape[1],
        homogeneity_defect=estimated(lambda mean: np.sqrt(_ratio(mean[..., 1], mean[..., 0]))),
        even_energy=estimated(lambda mean: mean[..., 2]),
        odd_energy=estimated(lambda mean: mean[..., 3]),
        even_fraction=estimated(lambda mean: _ratio(mean[..., 2], mean[..., 2] + mean[..., 3])),
        r_squared=estimated(lambda mean: 1.0 - _ratio(_ratio(mean[..., 4], mean[..., 5]), mean[..., 0])),
        pieces_from_origin=_mean_pieces(f, *_rays(x, rng), rounding, noise, rng, confidence),
        pieces_between=_mean_pieces(f, *_segments(x, rng), rounding, noise, rng, confidence),
        linear_map=fit,
        map_low=fit + _quantile(drawn[:, 6:], (1 - confidence) / 2),
        map_high=fit + _quantile(drawn[:, 6:], (1 + confidence) / 2),
        confidence=confidence,
        seed=seed,
    )


def as_function(f: Function, output: int | None = None) -> Function:
    """f as a function of NumPy arrays: PyTorch modules evaluated in double precision, in eval mode, one output of several."""
    torch = sys.modules.get("torch")  # whoever hands over a module has imported it
    function = _of_module(torch, f) if torch is not None and isinstance(f, torch.nn.Module) else f
    if not callable(function):
        raise InputError(f"f must be a function of samples (n, d) or a PyTorch module, found {type(f).__name__}.")
    if output is None:
        return function
    if not isinstance(output, (int, np.integer)):
        raise InputError(f"output must be the position of one output, found {output!r}.")
    return lambda x: np.asarray(function(x))[:, output]


def _of_module(torch: Any, module: Any) -> Function:
    twin = copy.deepcopy(module).cpu().double().eval()

    def evaluated(x: Array) -> ArrayLike:
        with torch.no_grad():
            try:
                return np.asarray(twin(torch.tensor(x)).numpy())
            except RuntimeError as error:  # torch's word for shapes that do not fit
                raise InputError(
                    f"the model must take inputs of shape {x.shape}, found that it does not: {error}."
                ) from error

    return evaluated


def _noise(f: Function, x: Array) -> float:
    """What rounding leaves in second differences of f: from the median between close points, as few have a kink there."""
    some = x[:LINES]
    values = [_evaluated(f, (1.0 + shift) * some)[0] for shift in (-CLOSE, 0.0, CLOSE)]
    return SAFETY * float(np.median(np.abs(values[0] - 2 * values[1] + values[2])))


def _checked_inputs(x: ArrayLike) -> Array:
    try:
        inputs = np.array(x, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"x must be an array of numbers ({error}).") from error
    if inputs.ndim != 2 or inputs.shape[0] < 2 or inputs.shape[1] < 1:
        raise InputError(f"x must have shape (samples, inputs) with two samples at least, found {inputs.shape}.")
    if not (np.abs(inputs) <= LARGEST).all():
        raise InputError(f"x must hold numbers of size {LARGEST:g} at most, found nan, inf or larger; clean or rescale it.")
    return inputs


def _evaluated(f: Function, x: Array) -> tuple[Array, float]:
    """f on the rows of x, block by block, and the relative size of what rounding may leave in it."""
    rows = max(1, BLOCK // x.shape[1])
    blocks = [_one_call(f, x[start : start + rows]) for start in range(0, len(x), rows)]
    precision = np.finfo(np.result_type(blocks[0].dtype, np.float16)).eps
    values = np.concatenate(blocks).astype(np.float64)
    if not (usable := np.abs(values) <= LARGEST).all():
        found = values[int(np.argmin(usable))]
        raise InputError(
            f"f must be a number of size {LARGEST:g} at most on x, -x, their multiples and means, found {found}."
        )
    return values, float(precision) ** 0.7  # 1e-11 in double, 1e-5 in single precision: sums of many terms


def _one_call(f: Function, x: Array) -> NDArray[np.generic]:
    values = np.asarray(f(x))
    if values.shape == (len(x), 1):
        values = values[:, 0]
    if values.shape != (len(x),) or values.dtype.kind not in "fiub":
        raise InputError(
            f"f must map inputs of shape {x.shape} to numbers of shape ({len(x)},), "
            f"found {values.dtype} of shape {values.shape}; wrap it, or choose one of several by output=0."
        )
    return values


def _linear_fit(x: Array, f: Array) -> tuple[Array, Array, Array]:
    """v (d,), what it misses of each sample's f^2 (n,), and the influence of each sample on v (n, d).

    A sample of leverage h pulls the fit towards itself; (f - v.x)^2 / (1 - h) makes up for it on average. Samples with h = 1
    are fitted whatever f is: what v misses of them is nan.
    """
    left, singular, right = np.linalg.svd(x, full_matrices=False)
    kept = singular > singular[0] * max(x.shape) * np.finfo(np.float64).eps
    left, singular, right = left[:, kept], singular[kept], right[kept]
    v = right.T @ (left.T @ f / singular)
    leverage = np.sum(left**2, axis=1)
    free = leverage < FITTED_WHATEVER_F
    room = np.where(free, 1.0 - leverage, np.inf)
    residual = f - x @ v
    influence = len(x) * (left / singular) @ right * (residual / np.sqrt(room))[:, None]
    return v, np.where(free, residual**2 / room, np.nan), influence


def _rays(x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ends of rays from the origin to twice a sample."""
    ends = 2.0 * x[rng.permutation(len(x))[:LINES]]
    return np.zeros_like(ends), ends


def _segments(x: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Ends of segments between two different samples."""
    first = rng.integers(len(x), size=LINES)
    second = (first + rng.integers(1, len(x), size=LINES)) % len(x)
    return x[first], x[second]


def _mean_pieces(
    f: Function, starts: Array, ends: Array, rounding: float, noise: float, rng: np.random.Generator, confidence: float
) -> Estimate:
    """The mean number of linear pieces of f between starts and ends (each lines, d)."""
    along = np.linspace(0.0, 1.0, CELLS + 1)[None, :, None]
    at_once = max(1, BLOCK // (along.size * starts.shape[1]))
    pieces = []
    for k in range(0, len(starts), at_once):
        start, end = (points[k : k + at_once, None, :] for points in (starts, ends))
        nodes = (1.0 - along) * start + along * end
        values = _evaluated(f, nodes.reshape(-1, nodes.shape[2]))[0].reshape(nodes.shape[:2])
        pieces += [_pieces(line, rounding * float(np.abs(line).max()) + noise) for line in values]
    counts = np.array(pieces)[:, None]
    return _estimate(counts.mean(axis=0)[0], _bootstrap_means(counts, rng)[:, 0], confidence)


def _pieces(values: Array, rounding: float) -> float:
    """Linear pieces of f from its values along a line: a kink bends at most two neighbouring second differences."""
    bends = np.abs(np.diff(values, 2)) > rounding
    edges = np.diff(np.concatenate([[0], bends.astype(int), [0]]))
    runs = np.flatnonzero(edges < 0) - np.flatnonzero(edges > 0)
    return 1.0 + float(np.sum((runs + 1) // 2))


def _bootstrap_means(columns: Array, rng: np.random.Generator) -> Array:
    """Means of the columns (n, k) over bootstrap samples of their rows, (resamples, k)."""
    n = len(columns)
    at_once = max(1, BLOCK // n)
    means = []
    for start in range(0, RESAMPLES, at_once):
        count = min(at_once, RESAMPLES - start)
        means.append(rng.multinomial(n, np.full(n, 1.0 / n), size=count) @ columns / n)
    return np.concatenate(means)


def _estimate(value: Array, drawn: Array, confidence: float) -> Estimate:
    low, high = (float(_quantile(drawn, (1 + side * confidence) / 2)) for side in (-1, 1))
    return Estimate(float(value), low, high)


def _quantile(drawn: Array, share: float) -> Array:
    return np.asarray(np.quantile(drawn, share, axis=0))


def _ratio(part: Array, whole: Array) -> Array:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(whole > 0, part / whole, np.nan))


def _pieces_in_words(pieces: Estimate) -> str:
    return "not piecewise linear (smooth)" if pieces.value > SMOOTH else repr(pieces)
