"""LongTrajectory: a classifier's run far beyond the range of floating-point times, kept in the log domain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .arrays import Array
from .trajectory import Trajectory

if TYPE_CHECKING:
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class LongTrajectory(Trajectory):
    """A run at times 10^log10_times (t,) with ln L = `log_loss` (t,); the start t = 0 is log10 t = -inf.

    `weights` are the weights themselves: they grow like a power of ln t only. Where a number leaves the float range, `times`
    is infinite and `loss` zero. `events.time` holds log10 t. Of a run that was followed until its direction converges,
    `direction_change` is the distance of theta/|theta| at the last look from that at a quarter of its log10 t, and
    `direction_converged` tells whether that, and the change still to be expected, was within the tolerance, with all samples
    that neurons see on their side.
    """

    log10_times: Array = None  # type: ignore[assignment]  # always given; a default is forced by the parent's fields
    log_loss: Array = None  # type: ignore[assignment]
    direction_change: float | None = None
    direction_converged: bool | None = None

    @cached_property
    def directions(self) -> tuple[Array, ...]:
        """W_l / |W_l|_F of every layer, each (t, out, in)."""
        return tuple(layer / np.linalg.norm(layer, axis=(1, 2), keepdims=True) for layer in self.weights)

    @cached_property
    def normalised_margins(self) -> Array:
        """y_i f(x_i) / |theta|^k of every sample, (t, n): theta all weights that train, k the number of their layers."""
        trained = [w for w, trains in zip(self.weights, self.problem.network.trainable_layers, strict=True) if trains]
        size = np.sqrt(sum(np.sum(w**2, axis=(1, 2)) for w in trained))
        return np.asarray(self.problem.y * self.outputs() / size[:, None] ** len(trained))

    def _extra_variables(self) -> dict[str, Any]:
        return {
            "log10_time": ("time", self.log10_times, {"long_name": "log10 of the time in units of tau"}),
            "log_loss": ("time", self.log_loss, {"long_name": "natural logarithm of the loss"}),
            "normalised_margin": (("time", "sample"), self.normalised_margins),
        }

    def _curves(self) -> dict[str, Any]:
        far = {"log10_times": self.log10_times.tolist(), "log_loss": self.log_loss.tolist()}
        return {**super()._curves(), **far, "normalised_margin": self.normalised_margins.min(axis=1).tolist()}

    def _metadata(self) -> dict[str, Any]:
        looks = {"direction_change": self.direction_change, "direction_converged": self.direction_converged}
        return {**super()._metadata(), **looks}

    @classmethod
    def _extra_fields(cls, contents: xarray.Dataset, metadata: Mapping[str, Any]) -> dict[str, Any]:
        return {
            "log10_times": contents["log10_time"].values,
            "log_loss": contents["log_loss"].values,
            "direction_change": metadata["direction_change"],
            "direction_converged": metadata["direction_converged"],
        }

    def _card(self) -> list[tuple[str, str]]:
        rows = super()._card()
        if not len(self):
            return rows
        span = f"{len(self)} from t = {_time(self.log10_times[0])} to {_time(self.log10_times[-1])}"
        rows = [(name, span if name == "times" else text) for name, text in rows]
        fall = f"ln L {self.log_loss[0]:.6g} -> {self.log_loss[-1]:.6g}"
        rows = [(name, fall if name == "loss" else text) for name, text in rows]
        if self.direction_change is not None:
            verdict = "converged" if self.direction_converged else "not converged"
            change = f"{self.direction_change:.2g} since a quarter of log10 t"
            rows.append(("direction", f"{verdict}: changed by {change}"))
        return rows


def _time(log10_t: float) -> str:
    """10^7 as 10^7, and 10^10000000 as 10^10,000,000.

    >>> _time(0.5), _time(1e7), _time(-np.inf)
    ('10^0.5', '10^10,000,000', '0')
    """
    if np.isneginf(log10_t):
        return "0"
    return f"10^{log10_t:,.0f}" if log10_t >= 1e4 else f"10^{log10_t:g}"
