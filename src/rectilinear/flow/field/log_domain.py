"""What moves a classifier in rescaled time, d theta/ds = -grad ln L with dt/ds = 1/L, held in the log domain.

L counts the *live* samples only, those that some moving neuron sees: the loss of the others does not change, and would hide
the fall of the rest. With S the sum of the live losses the normalised pulls q_i = -l'_i / S are ratios of exponentials, and margins
of 1e7 neither over- nor underflow. The field of `frozen` is sum_i q_i df_i/d theta, and in its Jacobian C = diag(l''_i / S) - q q^T
couples the samples.
"""

from __future__ import annotations

import numpy as np

from ...arrays import Array, Mask
from ..apart import apart
from ..compiled import fast_kernel
from .sample_losses import EXPONENTIAL

FAR_MARGIN = 30.0  # beyond it ln(1 + e^{-m}) equals e^{-m} to double precision


@fast_kernel
def normalised_pulls(loss: int, y: Array, f: Array, live: Mask, pull: Array, curvature: Array) -> float:
    """Write -l'_i / S and l''_i / S, S the sum of the live losses, for outputs f (samples,); return ln(S / samples).

    Samples that are not live get zeros.
    """
    samples = y.shape[0]
    logs, highest = np.empty(samples), -np.inf
    for i in range(samples):
        if not live[i]:
            continue
        margin = y[i] * f[i]
        if loss == EXPONENTIAL or margin > FAR_MARGIN:
            logs[i] = -margin
        else:
            logs[i] = np.log(np.log1p(np.exp(-abs(margin))) + max(-margin, 0.0))
        highest = max(highest, logs[i])
    total = 0.0
    for i in range(samples):
        if live[i]:
            total += np.exp(logs[i] - highest)
    log_sum = highest + np.log(total)
    for i in range(samples):
        pull[i], curvature[i] = 0.0, 0.0
        if not live[i]:
            continue
        margin = y[i] * f[i]
        if loss == EXPONENTIAL:
            size, bend = np.exp(-margin - log_sum), 1.0
        else:
            small = np.log1p(np.exp(-abs(margin)))
            size = np.exp(-max(margin, 0.0) - small - log_sum)
            bend = np.exp(min(margin, 0.0) - small)
        pull[i] = y[i] * size
        curvature[i] = size * bend
    return log_sum - np.log(samples)


normalised_pulls_apart = apart(normalised_pulls, "f")
