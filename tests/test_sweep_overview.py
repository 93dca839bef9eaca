"""The default plot of a sweep, by what it drew."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

from rectilinear import plots
from rectilinear.errors import InputError


def table(**axes):
    shape = tuple(len(values) for values in axes.values())
    numbers = np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape)
    variables = {"status": (list(axes), np.full(shape, "done")), "height": (list(axes), numbers)}
    return xarray.Dataset(variables, coords={name: list(values) for name, values in axes.items()})


def test_one_axis_is_a_curve_with_the_spread_over_seeds():
    figure = plots.sweep_overview(table(delta=[0.1, 0.2, 0.3], seed=range(5)))
    (ax,) = figure.axes
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[0.1, 3.0], [0.2, 8.0], [0.3, 13.0]])
    band = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert band.min() == pytest.approx(1.64)  # quantile 0.16 of 1 to 5
    assert band.max() == pytest.approx(14.36)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("delta", "height", "linear")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["68 % of 5 seeds", "median"]


def test_decades_are_drawn_on_logarithmic_axes():
    (ax,) = plots.sweep_overview(table(delta=[1e-3, 1e-2, 1e-1])).axes
    assert ax.get_xscale() == "log"


def test_two_axes_are_a_map():
    figure = plots.sweep_overview(table(scale=[1.0, 2.0], delta=[0.1, 0.2, 0.3], seed=range(3)))
    ax = figure.axes[0]
    np.testing.assert_allclose(ax.collections[0].get_array(), [[2.0, 5.0, 8.0], [11.0, 14.0, 17.0]])
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("delta", "scale")


def test_words_stand_side_by_side():
    (ax,) = plots.sweep_overview(table(start=["gaussian", "balanced"], seed=range(2))).axes
    assert [label.get_text() for label in ax.get_xticklabels()] == ["gaussian", "balanced"]


def test_seeds_alone_are_sorted_dots():
    (ax,) = plots.sweep_overview(table(seed=range(4))).axes
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1.0, 2.0, 3.0, 4.0])


def test_refusals():
    with pytest.raises(InputError, match="measure must be one of height, found 'width'"):
        plots.sweep_overview(table(seed=[0]), "width")
    with pytest.raises(InputError, match="one or two axes besides seeds can be drawn, found a, b, c"):
        plots.sweep_overview(table(a=[1], b=[1], c=[1]))
