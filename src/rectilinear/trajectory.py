"""Trajectory: a training run, simulated or predicted; it prints as a card, turns into xarray and saves as netCDF."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array
from .bibliography import bibtex
from .dataset import Dataset
from .errors import FileError, InputError, path_of
from .events import Events
from .jsonable import json_text, number_from
from .network import Network, Weights
from .precision import Precision
from .problem import Problem
from .whole_files import whole_file

if TYPE_CHECKING:
    import pandas
    import xarray


# An energy residual larger than this many times the tolerance says that the loss curve is not what was asked for.
CONTRADICTS = 100.0
FORMAT = 1  # raised when saved files change in a way that old readers cannot follow


class Status(Enum):
    """Why a run ended; the value is the sentence the user reads."""

    FINISHED = "reached the last time asked for"
    STATIONARY = "stopped: the gradient norm fell below stop_gradient"
    LOSS_REACHED = "stopped: the loss fell below stop_loss"
    OUT_OF_STEPS = "stopped: max_steps were used up; what was computed is returned"
    OUT_OF_SECONDS = "stopped: max_seconds were used up; what was computed is returned"
    INTERRUPTED = "stopped: interrupted by the user; what was computed is returned"
    CHATTERING = (
        "stopped: the run chatters on a kink (neurons are pushed onto a hyperplane w.x = 0 from both sides, "
        "so ordinary steps shrink to nothing); what was computed is returned"
    )
    STUCK = "stopped: no further step could be made; what was computed is returned"
    AT_REST = "stopped: nothing moves any more, the weights have a finite limit"
    SETTLED = "stopped: the loss settles above zero while weights still grow; no later time can be reached"
    CONVERGED = "stopped: the direction of the weights has converged"
    DIVERGED = "stopped: the weights left the range of floating-point numbers; take smaller steps"
    PREDICTED = "given by a theorem"


@dataclass(frozen=True, repr=False)
class Audit:
    """What the flow must conserve, measured on the run itself.

    `balance_drift`: largest change of |w_h|^2 - a_h^2 of any hidden neuron h (deep: |row|^2 - |column|^2), relative to the
    largest |w_h|^2 + a_h^2 that neuron has; with L2 the conserved quantity decays as e^{-2 l2 t} and that is compared. None
    where layers on either side do not both train. `loss_rise`: largest rise of the objective between two saved times, in
    units of its first value. `energy_residual`: largest |L(0) - L(t) - integral of |grad L|^2|, relative to L(0); None for
    gradient descent, which is not a flow. `weight_error`: what weights are estimated to be off by. Where neurons are followed the
    errors of steps are carried along by the flow, which damps or amplifies them, and are relative to the largest weight; elsewhere they
    are relative to the neurons' sizes and added up. Those of a neuron that is sent another way at a kink can be more. `loss_error`:
    what these can change the loss by, |grad L| |theta| times them, relative to L(0).
    """

    balance_drift: float | None
    loss_rise: float
    energy_residual: float | None
    weight_error: float | None = None
    loss_error: float | None = None

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Audit:
        return cls(
            values["balance_drift"],
            number_from(values["loss_rise"]),
            values["energy_residual"],
            values.get("weight_error"),
            values.get("loss_error"),
        )

    def __repr__(self) -> str:
        return f"Audit: {self}"

    def __str__(self) -> str:
        drift = "-" if self.balance_drift is None else f"{self.balance_drift:.1e}"
        energy = "-" if self.energy_residual is None else f"{self.energy_residual:.1e}"
        return f"balance drift {drift}, largest loss rise {self.loss_rise:.1e}, energy residual {energy}"


@dataclass(frozen=True, eq=False, repr=False)
class Trajectory:
    """A run of `problem` at `times` (t,): `loss` (t,) without regularisation, `weights[l]` (t, out, in).

    `events` tells what neurons did at kinks and `group_counts` (changes, 2) from
    which time on there were how many groups of one pattern, where the method follows them. `statistics` counts what the run cost;
    `provenance` says how it was made: package version, method, tolerances, time unit. `status` says why it ended, and `reason`
    adds what the method knows besides; `ended` is both.
    """

    problem: Problem
    times: Array
    loss: Array
    weights: tuple[Array, ...]
    status: Status = Status.FINISHED
    audit: Audit | None = None
    statistics: Mapping[str, Any] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    events: Events | None = None
    group_counts: Array | None = None
    reason: str = ""

    counted: ClassVar[str] = "cost"  # what the card calls the statistics
    kinds: ClassVar[dict[str, type[Trajectory]]] = {}  # by class name, so that `load` gives back what was saved

    def __init_subclass__(cls) -> None:
        Trajectory.kinds[cls.__name__] = cls

    def __len__(self) -> int:
        return len(self.times)

    def weights_at(self, k: int) -> Weights:
        """All layers at the k-th saved time, counted from 0; `times[k]` is the time."""
        if not isinstance(k, (int, np.integer)) or not -len(self) <= k < len(self):
            raise InputError(
                f"weights_at takes the position of a saved time, from 0 to {len(self) - 1}, found {k!r}; "
                "the one nearest to a time t is np.abs(run.times - t).argmin()."
            )
        return tuple(layer[k] for layer in self.weights)

    @property
    def ended(self) -> str:
        """Why the run ended, in words, and whether its own audit contradicts it."""
        words = f"{self.status.value}: {self.reason}" if self.reason else self.status.value
        residual, rtol = self.audit and self.audit.energy_residual, self.provenance.get("rtol")
        if not residual or not rtol or residual <= CONTRADICTS * rtol:
            return words
        return f"{words}; but loss and gradients along the run disagree by {residual:.1e} (rtol was {rtol:g}): tighten rtol"

    @property
    def final(self) -> Weights:
        """All layers at the last saved time."""
        return self.weights_at(-1)

    def outputs(self, x: ArrayLike | None = None) -> Array:
        """f at the saved times, shape (t, n); on the training data unless `x` (n, inputs) is given."""
        inputs = self.problem.data.x if x is None else np.atleast_2d(np.asarray(x, dtype=np.float64))
        return np.array([self.problem.network.output(self.weights_at(k), inputs) for k in range(len(self))])

    @cached_property
    def objective(self) -> Array:
        """Loss plus regularisation, (t,): what gradient flow descends."""
        if not self.problem.l2:
            return self.loss
        penalties = [self.problem.network.penalty(self.weights_at(k)) for k in range(len(self))]
        return self.loss + self.problem.l2 * np.array(penalties)

    @cached_property
    def linear_map(self) -> Array:
        """v(t) with (f(x) - f(-x))/2 = v . x, shape (t, inputs); two layers without bias (Theorem 1)."""
        return np.array([self.problem.network.linear_part(self.weights_at(k)) for k in range(len(self))])

    def to_xarray(self) -> xarray.Dataset:
        """The run as an xarray.Dataset: dimensions time, sample, input and, per layer, out_l and in_l."""
        import xarray

        problem = self.problem
        variables: dict[str, Any] = {
            "loss": ("time", self.loss, {"long_name": "loss without regularisation"}),
            "x": (("sample", "input"), problem.data.x),
            "y": ("sample", problem.data.y),
        }
        for k, start in enumerate(problem.weights, 1):
            variables[f"start_{k}"] = ((f"out_{k}", f"in_{k}"), start)
        for k, layer in enumerate(self.weights, 1):
            variables[f"weights_{k}"] = (("time", f"out_{k}", f"in_{k}"), layer)
        if self.events is not None:
            variables.update({f"event_{name}": ("event", getattr(self.events, name)) for name in Events.columns()})
        if self.group_counts is not None:
            variables["group_counts"] = (("change", "time_and_count"), self.group_counts)
        variables.update(self._extra_variables())
        return xarray.Dataset(
            variables,
            coords={"time": ("time", self.times, {"units": "tau"})},
            attrs={"rectilinear": json_text(self._metadata())},
        )

    def to_json(self) -> str:
        """Times, loss and metadata as JSON text, without the weights; what is not a finite number becomes null."""
        return json_text({**self._metadata(), "ended": self.ended, **self._curves()})

    def to_pandas(self) -> pandas.DataFrame:
        """Times and losses as a data frame, one row per saved time."""
        import pandas

        return pandas.DataFrame({"time": self.times, "loss": self.loss})

    def citations(self) -> str:
        """What the run rests on, as BibTeX: this package, the paper behind a prediction, the source of real data.

        >>> import rectilinear as rl
        >>> run = rl.descend(rl.Problem(rl.datasets.xor(), rl.Network(2, (4,))), 0.1, 1)
        >>> run.citations().splitlines()[0]
        '@software{rectilinear,'
        """
        return bibtex([str(self.provenance.get("source", ""))], self.problem.data.name)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def _curves(self) -> dict[str, Any]:
        """The series of the JSON text."""
        return {"times": self.times.tolist(), "loss": self.loss.tolist(), "loss_name": self.problem.loss.name}

    def save(self, path: str | Path) -> Path:
        """Write the run as netCDF 4; `rectilinear.load` reads it back."""
        path = path_of(path, "path")
        if not path.parent.is_dir():
            raise FileError(f"{path.parent}: no such folder to save in; create it first.")
        try:
            if path.is_dir():
                raise FileError(f"{path}: a file to save in is required, found a folder; name a file in it.")
            with whole_file(path) as place:
                self.to_xarray().to_netcdf(place, engine="h5netcdf")
        except OSError as error:
            raise FileError(f"{path}: the run could not be written ({error}); choose another place.") from error
        return path

    def _extra_variables(self) -> dict[str, Any]:
        """Variables that a kind of trajectory adds to the file."""
        return {}

    @classmethod
    def _extra_fields(cls, contents: xarray.Dataset, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of that kind of trajectory, read back from the file."""
        return {}

    def _metadata(self) -> dict[str, Any]:
        problem = self.problem
        network = problem.network
        return {
            "format": FORMAT,
            "kind": type(self).__name__,
            "status": self.status.name,
            "reason": self.reason,
            "saved_layers": len(self.weights),
            "data": {
                "name": problem.data.name,
                "promises": sorted(problem.data.promises),
                "features": problem.data.features,
                "precision": [problem.data.precision.name, problem.data.precision.tolerance],
            },
            "network": {
                "inputs": int(network.inputs),
                "widths": [int(width) for width in network.widths],
                "alpha": float(network.alpha),
                "bias": network.bias,
                "trainable": list(network.trainable_layers),
            },
            "loss": problem.loss.name,
            "l2": problem.l2,
            "audit": None if self.audit is None else vars(self.audit),
            "statistics": dict(self.statistics),
            "provenance": dict(self.provenance),
            "unlisted_crossings": 0 if self.events is None else self.events.unlisted,
        }

    def __repr__(self) -> str:
        rows = [("problem", repr(self.problem).removeprefix("Problem: ")), *self._card()]
        return "\n".join([type(self).__name__, *(f"  {name:<9} {text}" for name, text in rows)])

    def _card(self) -> list[tuple[str, str]]:
        rows = [("status", self.ended)]
        if len(self):
            rows += [
                ("times", f"{len(self)} from {self.times[0]:g} to {self.times[-1]:g}"),
                ("loss", f"{self.loss[0]:.6g} -> {self.loss[-1]:.6g}"),
            ]
        if "chosen" in self.provenance:
            rows.append(("method", f"{self.provenance['method']} ({self.provenance['chosen']})"))
        if "repeated" in self.provenance:
            rows.append(("repeated", self.provenance["repeated"]))
        if self.statistics:
            rows.append((self.counted, ", ".join(f"{_short(v)} {name}" for name, v in self.statistics.items())))
        if self.events is not None:
            rows.append(("events", str(self.events)))
        if self.audit is not None:
            rows.append(("audit", str(self.audit)))
            if self.audit.loss_error is not None and self.audit.weight_error is not None:
                rows.append(
                    (
                        "error",
                        f"estimated at {self.audit.weight_error:.0e} of the weights, {self.audit.loss_error:.0e} of the loss",
                    )
                )
        rows += [("data", self.provenance[said]) for said in ("mirror_images", "shared_kinks") if said in self.provenance]
        return rows


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def load(path: str | Path) -> Trajectory:
    """Read a run that `Trajectory.save` wrote.

    >>> import numpy as np, rectilinear as rl, tempfile, pathlib
    >>> data = rl.datasets.six_points()
    >>> net = rl.Network(inputs=2, widths=(4,), alpha=1.0)
    >>> run = rl.simulate(rl.Problem(data, net, net.init(scale=0.1, seed=0)), times=[0.0, 1.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = rl.load(run.save(pathlib.Path(folder) / "run.nc"))
    >>> bool(np.array_equal(run.loss, again.loss))
    True
    """
    import xarray

    path = path_of(path, "path")
    if not path.exists():
        raise FileError(f"{path}: no such file; check the path.")
    if path.is_dir():
        raise FileError(f"{path}: a file is required, found a folder; name a file in it.")
    try:
        with xarray.open_dataset(path, engine="h5netcdf") as file:
            contents = file.load()
        metadata = json.loads(contents.attrs["rectilinear"])
        if metadata["format"] <= FORMAT:
            return from_contents(contents, metadata)
    except (OSError, LookupError, TypeError, ValueError) as error:
        raise FileError(
            f"{path.name}: a run saved by Trajectory.save is required, this is not one ({type(error).__name__}: {error})."
        ) from error
    raise FileError(
        f"{path.name}: format {FORMAT} or older is required, found {metadata['format']}; update rectilinear to read it."
    )


def from_contents(contents: xarray.Dataset, metadata: Mapping[str, Any]) -> Trajectory:
    """Build the run from a file's variables and metadata."""
    net = metadata["network"]
    network = Network(net["inputs"], tuple(net["widths"]), net["alpha"], net["bias"], tuple(net["trainable"]))
    told = metadata["data"]
    data = Dataset(
        contents["x"].values,
        contents["y"].values,
        told["name"],
        set(told["promises"]),
        features=told.get("features"),
        precision=Precision(*told["precision"]) if "precision" in told else None,
    )
    layers = range(1, network.layers + 1)
    start = tuple(contents[f"start_{k}"].values for k in layers)
    kind = Trajectory if metadata["kind"] == Trajectory.__name__ else Trajectory.kinds[metadata["kind"]]
    return kind(
        problem=Problem(data, network, start, metadata["loss"], metadata["l2"]),
        times=contents["time"].values,
        loss=contents["loss"].values,
        weights=tuple(contents[f"weights_{k}"].values for k in layers[: metadata["saved_layers"]]),
        status=Status[metadata["status"]],
        reason=metadata.get("reason", ""),
        audit=None if metadata["audit"] is None else Audit.from_json(metadata["audit"]),
        statistics=metadata["statistics"],
        provenance=metadata["provenance"],
        group_counts=contents["group_counts"].values if "group_counts" in contents else None,
        events=Events(
            **{name: contents[f"event_{name}"].values for name in Events.columns()},
            unlisted=metadata.get("unlisted_crossings", 0),
        )
        if "event_time" in contents
        else None,
        **kind._extra_fields(contents, metadata),
    )


def check_times(times: ArrayLike, allow_infinity: bool = False) -> Array:
    """Times as a float64 array: not negative, strictly rising, and finite unless the last one may be infinity."""
    try:
        array = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"times must be numbers ({error}).") from error
    if array.ndim != 1 or array.size == 0:
        raise InputError(f"times must be a non-empty list of numbers, found shape {array.shape}.")
    if np.isnan(array).any():
        raise InputError(f"times must be numbers, found nan at position {int(np.isnan(array).argmax())}; drop it.")
    finite = np.isfinite(array[:-1] if allow_infinity and array[-1] == np.inf else array).all()
    rising = bool((array[:-1] < array[1:]).all())
    if not finite or array[0] < 0 or not rising:
        remedy = "drop those that are not" if rising else "sort them and drop repeats"
        raise InputError(
            f"times must be {'' if allow_infinity else 'finite, '}not negative and strictly rising, "
            f"found {np.array2string(array, threshold=6, edgeitems=3)}; {remedy}."
        )
    return array
