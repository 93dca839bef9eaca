"""The explicit pair of order 5(4) of Tsitouras, with its interpolant of order 4.

Ch. Tsitouras, Runge-Kutta pairs of order 5(4) satisfying only the first column simplifying assumption, Comput. Math. Appl. 62 (2011).
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array

PLAIN_STAGES = 7  # the last one is at the end of the step
STAGE_TIMES = (0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0)
PLAIN_TABLEAU = tuple(
    np.array(row)
    for row in (
        [],
        [0.161],
        [-0.008480655492356989, 0.335480655492357],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383],
        [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
    )
)
TABLE = np.array(
    [np.pad(row, (0, PLAIN_STAGES - len(row))) for row in PLAIN_TABLEAU]
)  # the last row are the weights of the step
ERROR_WEIGHTS = np.array(
    [
        0.00178001105222577714, 0.0008164344596567469, -0.007880878010261995, 0.1447110071732629,
        -0.5823571654525552, 0.45808210592918697, -1.0 / 66.0,
    ]
)  # fmt: skip


# b_s(u) as polynomials of u, from the constant on
INTERPOLANT = np.array(
    [
        np.convolve(np.convolve([0.0, -1.0530884977290216], [-1.3299890189751412, 1.0]), [0.7139816917074209, -1.4364028541716351, 1.0]),
        np.convolve([0.0, 0.0, 0.1017], [1.2949852507374631, -2.1966568338249754, 1.0]),
        np.convolve([0.0, 0.0, 2.490627285651252793], [1.57803468208092486, -2.38535645472061657, 1.0]),
        np.convolve(np.convolve([0.0, 0.0, -16.54810288924490272], [-1.21712927295533244, 1.0]), [-0.61620406037800089, 1.0]),
        np.convolve(np.convolve([0.0, 0.0, 47.37952196281928122], [-1.203071208372362603, 1.0]), [-0.658047292653547382, 1.0]),
        np.convolve(np.convolve([0.0, 0.0, -34.87065786149660974], [-1.2, 1.0]), [-0.666666666666666667, 1.0]),
        np.convolve(np.convolve([0.0, 0.0, 2.5], [-1.0, 1.0]), [-0.6, 1.0]),
    ]
)  # fmt: skip
POWERS = np.arange(INTERPOLANT.shape[1])


def interpolant(u: float | Array) -> Array:
    """Weights b(u), (..., s), such that y(t + u h) = y(t) + h sum_s b_s(u) k_s to order 4."""
    return np.asarray(np.asarray(u)[..., None] ** POWERS @ INTERPOLANT.T)


def interpolant_slope(u: float) -> Array:
    """Weights b'(u) such that y'(t + u h) = sum_s b_s'(u) k_s."""
    return np.asarray(INTERPOLANT[:, 1:] @ (POWERS[1:] * u ** POWERS[:-1]))
