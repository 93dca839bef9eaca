"""Prediction: a training run as a theorem predicts it; a Trajectory that knows its theorem and hypotheses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, Mask
from .conditions import Finding
from .errors import InputError
from .network import Weights
from .reduced.small_network import SmallNetwork
from .trajectory import Status, Trajectory

if TYPE_CHECKING:
    import xarray


THEOREM = "a theorem"
SOMETHING = 0.99  # of the error that needs no theorem: a stated one of that size says nothing


@dataclass(frozen=True, eq=False, repr=False)
class Prediction(Trajectory):
    """A run given by `theorem` (its `source` in the papers); `forced` if it was asked for although a finding fails.

    Weights come from `small` where the theorem gives a small equivalent network, and are empty where it speaks of the
    function only. `predicted_map` (t, d) is the linear map of the function; where the map diverges its row is nan and
    `direction` (d,) is the limit of its direction. `neglected` (t,) is the rms over the data of the even part that an
    idealised theory leaves out; `error_bound` (t,) a proven bound on the distance |W - predicted W| over all layers.
    `loss_error` (t,) is the stated error of `loss`: no run of the flow was found farther from it; None for forced predictions.
    """

    counted: ClassVar[str] = "found"

    theorem: str = ""
    source: str = ""
    findings: tuple[Finding, ...] = ()
    forced: bool = False
    predicted_map: Array | None = None
    direction: Array | None = None
    neglected: Array | None = None
    error_bound: Array | None = None
    loss_error: Array | None = None
    small: SmallNetwork | None = None

    def __post_init__(self) -> None:
        if not self.weights and self.small is not None:
            del self.__dict__["weights"]  # so that the property below expands them when they are first asked for

    @cached_property  # type: ignore[misc]  # a field of Trajectory, computed here
    def weights(self) -> tuple[Array, ...]:
        """The full network's weights, expanded from `small`."""
        return () if self.small is None else self.small.full()

    @property
    def says_something(self) -> Mask:
        """At which times (t,) the stated error rules anything out: without a theorem a loss is known to stay between 0 and the first."""
        if self.loss_error is None:
            return np.ones(len(self), dtype=np.bool_)
        first = self.problem.objective(self.problem.weights)
        return np.asarray(self.loss_error < SOMETHING * np.maximum(self.loss, first - self.loss))

    @cached_property
    def linear_map(self) -> Array:
        """v(t) with (f(x) - f(-x))/2 = v . x, (t, d): as the theorem gives it, or from the predicted weights."""
        if self.predicted_map is not None:
            return self.predicted_map
        self._require_weights("linear_map")
        network = self.problem.network
        return np.array([network.linear_part(self.weights_at(k)) for k in range(len(self))])

    def outputs(self, x: ArrayLike | None = None) -> Array:
        """f at the predicted times, (t, n): from the small network, the weights, or the linear map, whichever there is."""
        inputs = self.problem.data.x if x is None else np.atleast_2d(np.asarray(x, dtype=np.float64))
        if self.small is not None:
            network = self.problem.network
            hidden = network.activation(network.seen(inputs) @ np.swapaxes(self.small.first, 1, 2))
            return np.asarray((hidden * self.small.second).sum(axis=2))
        if self.predicted_map is not None:
            return np.asarray(self.predicted_map @ inputs.T)
        self._require_weights("outputs")
        return super().outputs(inputs)

    def weights_at(self, k: int) -> Weights:
        self._require_weights("weights_at")
        return super().weights_at(k)

    def _require_weights(self, what: str) -> None:
        if not self.weights:
            raise InputError(
                f"{what} needs predicted weights, but {self.theorem} predicts the loss only; simulate the problem instead."
            )

    @property
    def ended(self) -> str:
        """On what authority it is given: a forced prediction has none, perturbation theory is no theorem."""
        if self.failed:
            return f"by the formulas of {self.theorem}, without its authority: {self._what_fails}"
        return f"given by {self.provenance.get('basis', THEOREM)}" if self.status is Status.PREDICTED else super().ended

    @property
    def failed(self) -> tuple[Finding, ...]:
        """The hypotheses that do not hold (only in a forced prediction)."""
        return tuple(finding for finding in self.findings if not finding.holds)

    @property
    def _what_fails(self) -> str:
        return f"{', '.join(finding.name for finding in self.failed)} {'fails' if len(self.failed) == 1 else 'fail'}"

    def _card(self) -> list[tuple[str, str]]:
        forced = f"; forced although {self._what_fails}" if self.forced and self.failed else ""
        rows = [("theorem", f"{self.theorem} ({self.source}){forced}"), *super()._card()]
        if (defect := max((finding.defect for finding in self.findings), default=0.0)) > 0.0:
            rows.append(
                (
                    "precision",
                    f"hypotheses hold to {defect:.1e}, which can change it by about that much, up to t of order {1 / defect:.0e}",
                )
            )
        if self.neglected is not None:
            rows.append(("neglected", f"even part, rms up to {np.max(self.neglected):.2g}"))
        if self.loss_error is not None:
            rows.append(("error", f"loss within {np.max(self.loss_error):.2g} of the truth"))
        if self.error_bound is not None:
            rows.append(("bound", f"weights within {np.max(self.error_bound):.2g} of the truth"))
        return rows

    def _extra_variables(self) -> dict[str, Any]:
        variables: dict[str, Any] = {}
        if self.predicted_map is not None:
            variables["linear_map"] = (("time", "input"), self.predicted_map)
        if self.direction is not None:
            variables["direction"] = ("input", self.direction)
        for name in ("measured", "threshold") if self.findings else ():  # as JSON has no infinity
            variables[f"finding_{name}"] = ("finding", [getattr(finding, name) for finding in self.findings])
        for name in ("neglected", "error_bound", "loss_error"):
            if (values := getattr(self, name)) is not None:
                variables[name] = ("time", values)
        if self.small is not None:
            variables["small_first"] = (("time", "small_neuron", "input"), self.small.first)
            variables["small_second"] = (("time", "one", "small_neuron"), self.small.second)
            variables["shares"] = (("out_1", "small_neuron"), self.small.shares)
        return variables

    def _metadata(self) -> dict[str, Any]:
        return {
            **super()._metadata(),
            "theorem": self.theorem,
            "source": self.source,
            "forced": self.forced,
            "findings": [finding.to_json() for finding in self.findings],
        }

    @classmethod
    def _extra_fields(cls, contents: xarray.Dataset, metadata: Mapping[str, Any]) -> dict[str, Any]:
        def stored(name: str) -> Array | None:
            return contents[name].values if name in contents else None

        findings = [Finding.from_json(values) for values in metadata["findings"]]
        if "finding_measured" in contents:
            numbers = zip(findings, contents["finding_measured"].values, contents["finding_threshold"].values, strict=True)
            findings = [replace(found, measured=float(m), threshold=float(limit)) for found, m, limit in numbers]
        small = None
        if "shares" in contents:
            small = SmallNetwork(*(contents[name].values for name in ("small_first", "small_second", "shares")))
        return {
            "theorem": metadata["theorem"],
            "source": metadata["source"],
            "forced": metadata["forced"],
            "findings": tuple(findings),
            "predicted_map": stored("linear_map"),
            "direction": stored("direction"),
            "neglected": stored("neglected"),
            "error_bound": stored("error_bound"),
            "loss_error": stored("loss_error"),
            "small": small,
        }
