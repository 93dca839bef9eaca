"""Measures of loss curves, on curves drawn by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import measures
from rectilinear.errors import InputError
from sweep_parts import DATA, made_up

LEVEL = measures.linear_fit_loss(DATA)


def curve(*points):
    """A run whose loss goes through the given (time, loss)."""
    times, loss = np.array(points, dtype=np.float64).T
    run = made_up(0.5)
    return replace(run, times=times, loss=loss)


def test_the_level_is_that_of_least_squares():
    residual = DATA.y - DATA.x @ np.linalg.solve(DATA.x.T @ DATA.x, DATA.x.T @ DATA.y)
    assert pytest.approx(0.5 * np.mean(residual**2), rel=1e-12) == LEVEL


def test_time_to_a_loss_lies_on_a_straight_line():
    run = curve((0, 1.0), (10, 0.5), (20, 0.0))
    assert measures.time_to_loss(run, 0.25) == 15.0
    assert measures.time_to_loss(run, 0.5) == 10.0
    assert measures.time_to_loss(run, 2.0) == 0.0
    assert measures.time_to_loss(curve((0, 1.0), (1, 0.9)), 0.5) == math.inf


def test_a_plateau():
    run = curve((0, LEVEL + 0.2), (10, LEVEL), (100, LEVEL), (110, 0.0))
    assert measures.plateau_begin(run) == pytest.approx(5.0)
    assert measures.plateau_end(run) == pytest.approx(101.0)
    assert measures.plateau_duration(run) == pytest.approx(96.0)
    assert measures.plateau_height(run) == pytest.approx(LEVEL)


def test_a_plateau_without_end_and_a_curve_without_plateau():
    resting = curve((0, LEVEL + 0.2), (10, LEVEL), (100, LEVEL))
    assert measures.plateau_duration(resting) == math.inf
    assert measures.plateau_height(resting) == pytest.approx(LEVEL)
    falling = curve((0, LEVEL + 0.2), (10, LEVEL + 0.19))
    assert math.isnan(measures.plateau_duration(falling))
    assert math.isnan(measures.plateau_height(falling))


def test_plateaus_are_of_the_square_loss():
    network = rl.Network(inputs=2, widths=(3,))
    problem = rl.Problem(DATA, network, network.init(1.0, 0), "logistic")
    with pytest.raises(InputError, match="the plateau at a linear fit is one of the square loss, found the logistic loss"):
        measures.plateau_end(replace(made_up(0.5), problem=problem))
