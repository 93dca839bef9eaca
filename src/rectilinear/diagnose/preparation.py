"""What to do about the data themselves before anything is trained on them."""

from __future__ import annotations

import numpy as np
import scipy

from ..arrays import Array, Mask
from ..dataset import Dataset
from ..problem import Problem
from ..wording import of_number
from .diagnosis import Suggestion

OFF_CENTRE = 0.5  # mean of an input, in units of its root mean square, from which on centring is worth a word
UNEVEN = 1e3  # ratio of the sizes of two inputs from which on the larger one alone is learned at first
CONSTANT = 1e-6  # by which what inputs make together may be off 1
NEARLY_ALIKE = 1e-6  # distance of two samples over their root mean square size, below which they are one but for rounding
COUNTED = 10  # rows from which on a column that counts them is no coincidence
NAMED = 3  # inputs that a sentence names

CONVENTION = "nothing here is centred or scaled by itself"


def preparation_for(problem: Problem) -> list[Suggestion]:
    """Centre, scale, recode, drop: what the columns and labels ask for."""
    data = problem.data
    sizes = np.sqrt(np.mean(data.x**2, axis=0))
    constant = np.ptp(data.x, axis=0) == 0.0
    found = []
    off = np.abs(data.x.mean(axis=0)) > OFF_CENTRE * sizes
    if (off & ~constant).any():
        far = _names(problem, off & ~constant)
        text = f"centre the inputs (--centre, data.centred()): {far} far from mean 0, so that x and -x are never alike"
        found.append(Suggestion(text, CONVENTION))
    if (constant & (sizes > 0)).any():
        text = f"drop {_names(problem, constant & (sizes > 0), verb=False)} or know it for a bias: a constant input is one"
        found.append(Suggestion(text, "a bias is the weight of a constant input"))
    elif (kinds := _constant_together(data)).any():
        text = f"know {_names(problem, kinds, verb=False)} for a bias, or leave one out: they make a constant together"
        found.append(Suggestion(text, "a bias is the weight of a constant input"))
    if (constant & (sizes == 0)).any():
        found.append(Suggestion(f"drop {_names(problem, constant & (sizes == 0), verb=False)}: always zero", "no gradient"))
    if (numbering := _numbering(data.x)).any() and data.inputs > 1:
        text = f"drop {_names(problem, numbering, verb=False)} unless the order of the rows means something: it counts them"
        found.append(Suggestion(text, "what numbers the samples says nothing of them"))
    varying = sizes[~constant]
    if varying.size and varying.max() > UNEVEN * varying.min():
        largest, smallest = (int(np.flatnonzero(sizes == s)[0]) for s in (varying.max(), varying.min()))
        text = (
            f"standardise the inputs (--standardise): {data.feature(largest)} is {varying.max() / varying.min():.2g} times as large as "
            f"{data.feature(smallest)}, and is all that is learned at first"
        )
        found.append(Suggestion(text, CONVENTION))
    return found + _labels(problem)


def _numbering(x: Array) -> Mask:
    """Which columns count the rows."""
    if len(x) < COUNTED:
        return np.zeros(x.shape[1], dtype=bool)
    return np.asarray((x[0] == np.round(x[0])) & (np.diff(x, axis=0) == 1.0).all(axis=0))


def _labels(problem: Problem) -> list[Suggestion]:
    y = problem.y
    values = np.unique(y)
    if len(values) == 2 and not np.array_equal(values, (-1.0, 1.0)):
        low, high = values
        text = (
            f"recode the labels {low:g} and {high:g} as -1 and +1, e.g. np.where(y == {high:g}, 1, -1): a class is no size"
        )
        return [Suggestion(text, "losses of classes, and `separable`, are defined for -1 and +1")]
    off_centre = abs(float(y.mean())) > OFF_CENTRE * float(np.sqrt(np.mean(y**2)))
    if len(values) > 2 and off_centre and not _fit_a_constant(problem.data):
        text = f"centre the labels (--centre does so too): their mean is {y.mean():.3g}, and without a bias nothing fits a constant"
        return [Suggestion(text, "f(0) = 0 without biases")]
    return []


def _fit_a_constant(data: Dataset) -> bool:
    """Whether a linear function of the inputs is nearly 1 everywhere: they are uncentred, or one is constant."""
    share = float(data.x.mean(axis=0) @ _nearest_to_one(data))  # of <1^2>, in the best fit
    return share > 1.0 - OFF_CENTRE**2


def _nearest_to_one(data: Dataset) -> Array:
    """w (d,) of the linear function w.x that is nearest to 1, inputs of any size alike."""
    sizes = np.sqrt(np.diag(data.covariance))
    sizes = np.where(sizes > 0.0, sizes, 1.0)
    return np.asarray(
        np.linalg.lstsq(data.covariance / np.outer(sizes, sizes), data.x.mean(axis=0) / sizes, rcond=None)[0] / sizes
    )


def _constant_together(data: Dataset) -> Mask:
    """Inputs that make a constant together and not each by itself, as columns of 0 and 1 for kinds of things do."""
    weights = _nearest_to_one(data)
    shares = np.abs(weights) * np.sqrt(np.diag(data.covariance))
    is_one = data.samples > 2 * data.inputs and np.abs(data.x @ weights - 1.0).max() < CONSTANT
    return np.asarray(shares > CONSTANT * shares.max()) if is_one else np.zeros(data.inputs, dtype=bool)


def remarks_on(problem: Problem) -> list[str]:
    """What is odd about the samples: zero rows, duplicates, near ones."""
    data, found = problem.data, []
    zero = ~data.x.any(axis=1)
    if zero.any():
        count, first = int(zero.sum()), data.sample(int(zero.argmax()))
        zeros = of_number(count, "sample is", "samples are")
        labelled = bool(data.y[zero].any())
        consequence = (
            "no gradient there, and no bias-free network fits a label other than 0." if labelled else "no gradient there."
        )
        found.append(f"{zeros} zero (first: {first}): {consequence}")
    repeated = data.samples - len(np.unique(np.column_stack([data.x, data.y]), axis=0))
    if repeated:
        copies = of_number(repeated, "sample repeats", "samples repeat")
        found.append(f"{copies} others exactly: p-values, which count samples, are too small.")
    return found + _nearly_alike(data)


def _nearly_alike(data: Dataset) -> list[str]:
    """A remark on samples that are off others by next to nothing, as where one thing was measured twice."""
    different, rows = np.unique(data.x, axis=0, return_index=True)
    size = float(np.sqrt(np.mean(np.sum(data.x**2, axis=1))))
    found = scipy.spatial.cKDTree(different).query(different, k=2, distance_upper_bound=NEARLY_ALIKE * size)
    apart, nearest = np.asarray(found[0]), np.asarray(found[1])
    close = np.flatnonzero(np.isfinite(apart[:, 1]))
    if not close.size:
        return []
    first = close[rows[close].argmin()]
    other = nearest[first, 1]
    most = data.feature(int(np.abs(different[first] - different[other]).argmax()))
    return [
        f"{len(close)} samples lie next to others (first: {data.sample(int(rows[first]))} and {data.sample(int(rows[other]))}, "
        f"{apart[first, 1] / size:.1g} of their size apart, most in {most}): neurons meet their kinks almost at once, and p-values, which "
        "count samples, are too small; if one thing was measured twice, average."
    ]


def _names(problem: Problem, chosen: np.ndarray, verb: bool = True) -> str:
    columns = np.flatnonzero(chosen).tolist()
    names = ", ".join(problem.data.feature(k) for k in columns[:NAMED])
    more = f" and {len(columns) - NAMED} more" if len(columns) > NAMED else ""
    return names + more + ((" are" if len(columns) > 1 else " is") if verb else "")
