"""The two-layer field when most neurons point along one line: exact, at a cost that hardly depends on the samples times neurons.

After the early phase neurons lie within a small angle of +-r. A sample whose angle to the hyperplane of r is larger than that is
on the same side of every one of them, so its even part sum_h a_h |w_h.x| is sgn(r.x) V.x with one vector V = sum_h s_h a_h w_h,
s_h = sgn(w_h.r). Only samples near that hyperplane, and neurons far from r, need the product of samples and neurons.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

QUANTILES = (1.0, 0.98, 0.95, 0.9, 0.8, 0.6)  # shares of the neurons tried as the aligned ones
WORTHWHILE = 0.5  # of the full product of samples and neurons
ROUNDING = 1e-12  # added to the sine, so that a sample is never put on a side it only nearly is on
SLACK = 1.3  # a split made with some room fits the neurons for a while
SMALLEST_SINE = 1e-6  # 1 - cos^2 knows no smaller angles
SQUARE_ROUNDING = 1e-15  # of 1 - cos^2
REFINEMENTS = 3


@dataclass(frozen=True)
class Split:
    """Which neurons are aligned with the line `r` (with their signs), and which samples are near its hyperplane."""

    aligned: Indices
    others: Indices
    signs: Array  # of the aligned neurons
    near: Indices
    far_sides: Array  # (rows,) sgn(r.x) of the samples that are not near, 0 for the others
    r: Array
    sine: float  # the aligned neurons must stay within this of the line

    def fits(self, w: Array) -> bool:
        """Whether the split is still exact for other neurons w (h, d): the aligned ones are within the angle, on their sides."""
        aligned = w[self.aligned]
        along = aligned @ self.r
        off = np.einsum("hd,hd->h", aligned, aligned) - along * along
        limit = (self.sine - ROUNDING) ** 2 - SQUARE_ROUNDING
        return bool((off <= limit * (along * along + np.maximum(off, 0.0))).all() and (along * self.signs > 0.0).all())


def split(w: Array, v: Array, units: Array) -> Split | None:
    """The cheapest split for neurons w (h, d) and unit samples (rows, d), starting from the direction v; None if none pays."""
    sizes = np.linalg.norm(w, axis=1)
    length = float(np.linalg.norm(v))
    if length == 0.0 or not sizes.all():
        return None
    directions = w / sizes[:, None]
    r = v / length
    for _ in range(REFINEMENTS):
        r = np.sign(directions @ r) @ directions
        r /= max(float(np.linalg.norm(r)), 1e-300)
    cosines = directions @ r
    # |sin| from the part off the line: 1 - cos^2 would lose half the digits
    sines = np.linalg.norm(directions - cosines[:, None] * r, axis=1)
    heights = units @ r
    ordered_heights, ordered_sines = np.sort(np.abs(heights)), np.sort(sines)
    count, rows = len(w), len(units)
    best, cutoff = WORTHWHILE * count * rows, -1.0
    for share in QUANTILES:
        inside = max(1, int(share * count))
        sine = SLACK * ordered_sines[inside - 1] + SMALLEST_SINE
        cost = (count - inside) * rows + inside * int(np.searchsorted(ordered_heights, sine, side="right"))
        if cost < best:
            best, cutoff = cost, sine
    if cutoff < 0.0:
        return None
    is_aligned = sines + ROUNDING <= cutoff
    is_near = np.abs(heights) <= cutoff
    return Split(
        np.flatnonzero(is_aligned),
        np.flatnonzero(~is_aligned),
        np.sign(cosines[is_aligned]),
        np.flatnonzero(is_near),
        np.where(is_near, 0.0, np.sign(heights)),
        r,
        cutoff,
    )


def even_part(chosen: Split, w: Array, a: Array, x: Array) -> tuple[Array, Array, Array]:
    """sum_h a_h |w_h.x| of every row (rows,), and the signs sgn(w_h.x) of (near, aligned) and (rows, others)."""
    w_in, a_in, w_out, a_out = w[chosen.aligned], a[chosen.aligned], w[chosen.others], a[chosen.others]
    even = chosen.far_sides * (x @ ((chosen.signs * a_in) @ w_in))
    near = x[chosen.near] @ w_in.T
    even[chosen.near] = np.abs(near) @ a_in
    far = x @ w_out.T
    even += np.abs(far) @ a_out
    return even, np.sign(near), np.sign(far)


def even_drive(chosen: Split, x: Array, even_pull: Array, near: Array, far: Array, out: Array) -> None:
    """Write sum_i sgn(w_h.x_i) q_i x_i of every neuron to `out` (neurons, inputs)."""
    weighted = even_pull[:, None] * x
    out[chosen.aligned] = chosen.signs[:, None] * (chosen.far_sides @ weighted)
    out[chosen.aligned] += near.T @ weighted[chosen.near]
    out[chosen.others] = far.T @ weighted
