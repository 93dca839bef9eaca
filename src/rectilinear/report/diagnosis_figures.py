"""The figures of a diagnosis: the loss to come, the data beside their mirror images, and the spectrum of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from ..diagnose import Diagnosis
from ..plots import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..diagnose.look_ahead import LookAhead

SHOWN = 1500  # samples that a scatter plot shows; more only make it darker
BINS = 30
CROWD = 80  # points from which on rings are drawn finer
EARLY = 0.05  # share of the time before which half of the first fall is done, so that time is shown by its logarithm
NO_DIRECTION = 1e-12  # relative size of <y x> that is rounding
MIRRORED = {"data": style.colour(0), "mirror images": style.colour(1)}
WIDE = 6.2  # inches


@style.paper
def loss_to_come(diagnosis: Diagnosis) -> Figure:
    """The predicted loss (dashed), that of the mirrored data where nothing is predicted, the plateau, and the simulated loss."""
    outlook, verified = diagnosis.outlook, diagnosis.verified
    figure, (ax,) = style.panels(WIDE, 3.3)
    if verified is not None:
        ax.plot(verified.run.times, verified.run.loss, color=style.colour(0), label="simulated")
    if outlook.plateau is not None:
        last = ax.get_xlim()[1] if outlook.prediction is None else float(outlook.prediction.times[-1])
        ends = outlook.plateau.ends if np.isfinite(outlook.plateau.ends) else max(last, outlook.plateau.begins)
        span, height = (outlook.plateau.begins, ends), (outlook.plateau.height,) * 2
        ax.plot(
            span, height, color=style.colour(4), linewidth=7, alpha=0.45, solid_capstyle="butt", label="plateau predicted"
        )
    if outlook.prediction is not None:
        label = f"predicted by {outlook.prediction.theorem}"
        ax.plot(outlook.prediction.times, outlook.prediction.loss, **style.PREDICTION, label=label)
    if outlook.ahead is not None:
        _draw_ahead(ax, outlook.ahead)
    if outlook.mirrored is not None:
        label = "other data: with (−x, −y) added"
        ax.plot(outlook.mirrored.times, outlook.mirrored.loss, **style.PREDICTION | {"color": style.NEUTRAL}, label=label)
    drop = outlook.first_drop if outlook.ahead is None else outlook.ahead.first_drop
    if drop is not None:
        ax.axvline(drop, color=style.NEUTRAL, linewidth=0.8, linestyle=":", label="half of the first fall")
    ax.set(xlabel=style.TIME, ylabel="loss")
    last = max(float(line.get_xdata()[-1]) for line in ax.get_lines())  # type: ignore[arg-type, index]
    if drop is not None and drop < EARLY * last:
        ax.set_xscale("log")
        ax.set_xlim(drop / 10, last)
    style.from_zero(ax)
    figure.legend(loc="outside upper left", ncols=2, handlelength=2.0)
    return figure


def _draw_ahead(ax: Axes, ahead: LookAhead) -> None:
    """The expected loss, dashed, within the band of its error."""
    times, loss = ahead.run.times[: len(ahead.loss)], ahead.loss
    shifted = [np.interp(times * factor, times, loss) for factor in (1.0 - ahead.time_error, 1.0, 1.0 + ahead.time_error)]
    error = ahead.error * float(loss[0])
    low, high = np.maximum(np.min(shifted, axis=0) - error, 0.0), np.max(shifted, axis=0) + error
    ax.fill_between(times, low, high, color=style.colour(1), alpha=0.2, linewidth=0, label="what it may be off by")
    ax.plot(times, loss, **style.PREDICTION | {"color": style.colour(1)}, label="expected (short simulation)")


@style.paper
def mirror_images(diagnosis: Diagnosis) -> Figure:
    """The inputs and their mirror images, equal where even: in a plane, and along <y x>, where small weights grow first.

    The plane is that of <y x> and the direction of largest spread across it; a single input is shown with its label.
    """
    data = diagnosis.problem.data
    along = data.x @ (leading := leading_direction(data))
    some = np.linspace(0, data.samples - 1, min(SHOWN, data.samples)).astype(int)
    figure, (cloud, inputs) = style.panels(WIDE, 3.0, columns=2)
    if data.inputs == 1:
        _scatter(cloud, data.x[some, 0], data.y[some])
        cloud.set(xlabel="input x", ylabel="label y")
    else:
        across = data.x @ widest_across(data, leading)
        _scatter(cloud, along[some], across[some])
        cloud.set(xlabel="input along ⟨yx⟩", ylabel="input across it", aspect="equal", adjustable="datalim")
    for sign, colour in zip((1, -1), MIRRORED.values(), strict=True):
        filled = sign > 0  # so that neither hides the other
        inputs.hist(
            sign * along, bins=_bins(along), histtype="stepfilled" if filled else "step", color=colour,
            alpha=0.3 if filled else 1.0, linewidth=1.4,
        )  # fmt: skip
    inputs.set(xlabel="input along ⟨yx⟩", ylabel="samples")
    figure.legend(*cloud.get_legend_handles_labels(), loc="outside upper left", ncols=2, handletextpad=0.2)
    return figure


def _scatter(ax: Axes, horizontal: Array, vertical: Array) -> None:
    """Points as dots, their mirror images as rings about where they would lie."""
    for sign, (name, colour) in zip((1, -1), MIRRORED.items(), strict=True):
        size, face, width = (10, colour, 0.0) if sign > 0 else (34, "none", 0.7)
        crowd = min(1.0, CROWD / len(horizontal))
        ax.scatter(
            sign * horizontal, sign * vertical, s=size, facecolors=face, edgecolors=colour, linewidths=width * crowd**0.5,
            label=name, zorder=2 + sign,
        )  # fmt: skip


@style.paper
def spectrum(diagnosis: Diagnosis) -> Figure:
    """Eigenvalues of <x x^T>, largest first, and the share of <y^2> that a linear map on the first of them explains."""
    values, shares = explained(diagnosis)
    figure, (eigenvalues, fit) = style.panels(WIDE, 2.8, columns=2)
    ranks = np.arange(1, len(values) + 1)
    marker = "o" if len(values) <= 60 else None
    seen = values > 0
    eigenvalues.plot(ranks[seen], values[seen], color=style.colour(0), marker=marker, markersize=3.5, linewidth=1.2)
    eigenvalues.set(xlabel="direction", ylabel="eigenvalue of ⟨xx$^T$⟩", yscale="log")
    fit.plot(ranks, 100 * np.cumsum(shares), color=style.colour(2), marker=marker, markersize=3.5, linewidth=1.2)
    fit.set(xlabel="first directions used", ylabel="% of ⟨y²⟩ explained", ylim=(0, 103))
    for ax in (eigenvalues, fit):
        ax.locator_params(axis="x", integer=True)
    return figure


def leading_direction(data: Dataset) -> Array:
    """The unit vector along <y x>; the inputs' first principal direction if that is zero."""
    beta = data.correlation
    scale = np.sqrt(np.mean(data.y**2) * np.mean(np.sum(data.x**2, axis=1)))
    if np.linalg.norm(beta) <= NO_DIRECTION * scale:
        return np.asarray(principal_directions(data.x)[1][0])
    return np.asarray(beta / np.linalg.norm(beta))


def widest_across(data: Dataset, direction: Array) -> Array:
    """The unit vector of largest <(v.x)^2> among those orthogonal to `direction`; zero if no input has a part across it."""
    values, directions = principal_directions(data.x - np.outer(data.x @ direction, direction))
    spread = float(np.mean(np.sum(data.x**2, axis=1)))
    return np.asarray(directions[0] if values[0] > NO_DIRECTION**2 * spread else np.zeros_like(direction))


def principal_directions(x: Array) -> tuple[Array, Array]:
    """Eigenvalues (k,) of <x x^T>, largest first, and their unit vectors (k, d), with k = min(n, d)."""
    if x.shape[1] <= x.shape[0]:
        values, vectors = np.linalg.eigh(x.T @ x / len(x))
        return np.maximum(values[::-1], 0.0), vectors.T[::-1]
    _, singular, directions = np.linalg.svd(x, full_matrices=False)
    return np.asarray(singular**2 / len(x)), np.asarray(directions)


def explained(diagnosis: Diagnosis) -> tuple[Array, Array]:
    """Eigenvalues of <x x^T>, largest first, and the share of <y^2> that a linear function of each direction explains, (k,)."""
    data = diagnosis.problem.data
    values, directions = principal_directions(data.x)
    seen = values > values[0] * data.inputs * np.finfo(np.float64).eps
    squares = (directions @ data.correlation) ** 2
    total = float(np.mean(data.y**2)) or 1.0
    return np.where(seen, values, 0.0), np.where(seen, squares / np.where(seen, values, 1.0), 0.0) / total


def _bins(along: Array) -> list[float]:
    """Bin edges that are symmetric about zero, none of them at a sample of a few equal values."""
    reach = float(np.abs(along).max()) * (1 + 1 / BINS)
    return list(np.linspace(-reach, reach, BINS + 1))
