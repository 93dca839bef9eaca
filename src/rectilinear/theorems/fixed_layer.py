"""Orthogonal inputs, second layer fixed: every sample has a clock of its own, and the whole run is in closed form.

With x_i . x_j = 0 the height z_hi = w_h . x_i is moved by sample i only. In the clock dU_i = (|x_i|^2 / n) p_i dt, p_i = -dl/dm at
the margin m_i = y_i f(x_i),

    dz_hi/dU_i = s sigma'(z_hi),   s = a_h y_i,

so z_hi is piecewise linear in U_i with at most one bend, where it reaches zero, and m_i = sum_h s sigma(z_hi) is piecewise
linear with slope k = sum_h (s sigma')^2. On each piece the time is known: with v = m_i,

    logistic:     v + e^v = m0 + e^m0 + k (|x_i|^2 / n)(t - t0),      exponential:  e^v = e^m0 + k (|x_i|^2 / n)(t - t0).

This is the exactly orthogonal case of Kou, Chen & Gu (2023), for any fixed second layer and any start. In the end z_hi / ln t is
s sigma' / k with the final slopes, which gives the limit of the weights' direction and of every stable rank.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from ..arrays import Array
from ..conditions import Finding, falling_loss, first_layer_only, no_decay, orthogonal_inputs
from ..losses import Loss
from ..problem import Problem
from .stated_error import computed_error
from .theorem import Solution, Theorem


@dataclass(frozen=True, eq=False)
class SampleClock:
    """One sample: heights z (h,) at the start, s = a_h y (h,), the leak alpha, and speed |x|^2 / n."""

    heights: Array
    gains: Array
    alpha: float
    speed: float

    @property
    def bends(self) -> Array:
        """The U at which each height reaches zero, (h,); infinity if it never does."""
        rising = (self.gains > 0) & (self.heights < 0)
        falling = (self.gains < 0) & (self.heights > 0)
        slopes = np.where(rising, self.alpha, 1.0) * np.abs(self.gains)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(rising | falling, np.abs(self.heights) / slopes, np.inf)

    def slopes(self, u: float) -> Array:
        """sigma' of each neuron just after U = u, (h,)."""
        before = (self.heights > 0) | ((self.heights == 0) & (self.gains > 0))
        bent = np.isfinite(self.bends) & (self.bends <= u)
        active = np.where(bent, self.gains > 0, before)
        return np.where(active, 1.0, self.alpha)

    def heights_at(self, u: float) -> Array:
        """z (h,) at U = u."""
        bends = self.bends
        straight = self.heights + self.gains * self.slopes(-1.0) * u
        with np.errstate(invalid="ignore"):  # u - infinity where there is no bend
            bent = self.gains * self.slopes(np.inf) * (u - bends)
        return np.where(u > bends, bent, straight)

    def at(self, times: Array, loss: Loss) -> tuple[Array, Array]:
        """U and margins m, each (t,), at rising times (infinite U and m at infinity if the sample is seen at all)."""
        clock, margins = np.empty(len(times)), np.empty(len(times))
        corners = np.unique(np.append(0.0, self.bends[np.isfinite(self.bends)]))
        u, margin, began, k = 0.0, self._margin(0.0), 0.0, 0
        for number, time in enumerate(times):
            while k + 1 < len(corners):
                ahead = self._margin(corners[k + 1])
                end = began + self._duration(loss, margin, ahead, corners[k + 1] - u)
                if time < end:
                    break
                k, u, margin, began = k + 1, corners[k + 1], ahead, end
            clock[number], margins[number] = self._within_piece(loss, u, margin, time - began)
        return clock, margins

    def _margin(self, u: float) -> float:
        z = self.heights_at(u)
        return float(self.gains @ np.maximum(z, self.alpha * z))

    def _duration(self, loss: Loss, margin: float, ahead: float, length: float) -> float:
        """Time from a corner to the next, `length` later on the clock: the integral of dU / (speed p)."""
        rise = ahead - margin
        exponential = np.exp(margin) * (np.expm1(rise) / rise if rise > 0 else 1.0) * length
        return float((exponential + (length if loss.name == "logistic" else 0.0)) / self.speed)

    def _within_piece(self, loss: Loss, u: float, margin: float, elapsed: float) -> tuple[float, float]:
        steepness = float(np.sum((self.gains * self.slopes(u)) ** 2))
        if steepness == 0.0:
            return u, margin  # no neuron sees the sample
        gained = steepness * self.speed * elapsed
        reached = (
            _logistic_margin(margin, gained) if loss.name == "logistic" else margin + np.log1p(gained * np.exp(-margin))
        )
        return u + (reached - margin) / steepness, float(reached)


def _logistic_margin(margin: float, gained: float) -> float:
    """v with v + e^v = margin + e^margin + gained; omega = e^v is the Wright omega function of the right side."""
    total = margin + np.exp(margin) + gained
    if total == np.inf:
        return np.inf
    omega = float(scipy.special.wrightomega(total))
    return float(np.log(omega)) if total > 1.0 else total - omega


def sample_clocks(problem: Problem) -> list[SampleClock]:
    """The clock of every sample."""
    x, y = problem.x, problem.y
    heights = problem.weights[0] @ x.T
    speeds = np.sum(x**2, axis=1) / len(y)
    gains = problem.weights[1][0][:, None] * y
    return [SampleClock(heights[:, i], gains[:, i], problem.network.alpha, float(speeds[i])) for i in range(len(y))]


def logarithmic_rates(problem: Problem) -> Array:
    """lim W_1 / ln t, (h, d): sum_i (a_h y_i sigma'_hi / k_i) x_i / |x_i|^2 with the final slopes sigma'.

    Samples that no neuron sees in the end do not contribute.
    """
    clocks = sample_clocks(problem)
    gains = np.stack([clock.gains * clock.slopes(np.inf) for clock in clocks], axis=1)
    steepness = np.sum(gains**2, axis=0)
    shares = np.divide(gains, steepness, out=np.zeros_like(gains), where=steepness > 0)
    return np.asarray(shares @ (problem.x / np.sum(problem.x**2, axis=1, keepdims=True)))


def solve(problem: Problem, times: Array) -> Solution:
    """Loss and weights at any time; at infinity weights are nan, as they diverge, and samples that are seen have no loss left."""
    clocks = sample_clocks(problem)
    runs = [clock.at(times, problem.loss) for clock in clocks]
    margins = np.stack([margins for _, margins in runs], axis=1)
    loss = np.asarray(problem.loss.value(np.ones_like(margins), margins).mean(axis=1))
    first = np.full((len(times), *problem.weights[0].shape), np.nan)
    directions = problem.x / np.sum(problem.x**2, axis=1, keepdims=True)
    for k in np.flatnonzero(np.isfinite(times)):
        moved = [clock.heights_at(run[0][k]) - clock.heights for clock, run in zip(clocks, runs, strict=True)]
        first[k] = problem.weights[0] + np.stack(moved, axis=1) @ directions
    second = np.repeat(problem.weights[1][None], len(times), axis=0)
    return Solution(loss=loss, loss_error=computed_error(problem, loss), weights=(first, second))


def hypotheses(problem: Problem) -> list[Finding]:
    return [
        first_layer_only(problem),
        falling_loss(problem),
        no_decay(problem),
        orthogonal_inputs(problem.data),
    ]


FIXED_LAYER = Theorem(
    name="fixed_layer",
    title="on orthogonal inputs with a fixed second layer every sample runs by a clock of its own, in closed form",
    source="Kou, Chen & Gu, NeurIPS 2023, arXiv:2310.18935, for orthogonal data",
    strength=90,
    hypotheses=hypotheses,
    breaks={
        "first_layer_only": "heights no longer move in proportion to the second layer",
        "falling_loss": "the time on a piece has another form",
        "no_decay": "heights move without their sample",
        "orthogonal_inputs": "samples move each other's heights",
    },
    solve=solve,
    essential=("first_layer_only", "falling_loss"),
)
