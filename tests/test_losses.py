"""Losses: derivatives against finite differences, and finite numbers for margins of any size."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.losses import FAR_MARGIN, LOSSES, named_loss

STEP = 1e-5
DIFFERENCE_ERROR = 1e-8  # central differences: step^2 plus rounding / step, for values below 10

losses = pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES.keys())
classification = pytest.mark.parametrize("loss", [LOSSES["logistic"], LOSSES["exponential"]], ids=str)


@losses
@given(y=st.sampled_from([-1.0, 1.0]), f=st.floats(-2, 2))
def test_pull_and_curvature_are_derivatives_of_the_value(loss, y, f):
    y = np.array(y)
    rise = (loss.value(y, np.array(f + STEP)) - loss.value(y, np.array(f - STEP))) / (2 * STEP)
    assert loss.pull(y, np.array(f)) == pytest.approx(-rise, abs=DIFFERENCE_ERROR)
    bend = (loss.pull(y, np.array(f - STEP)) - loss.pull(y, np.array(f + STEP))) / (2 * STEP)
    assert loss.curvature(y, np.array(f)) == pytest.approx(bend, abs=DIFFERENCE_ERROR)


def test_values_are_those_of_the_table():
    y, f = np.array([1.0, -1.0]), np.array([0.3, 0.3])
    np.testing.assert_allclose(LOSSES["square"].value(y, f), [0.245, 0.845])
    np.testing.assert_allclose(LOSSES["logistic"].value(y, f), [math.log(1 + math.exp(-0.3)), math.log(1 + math.exp(0.3))])
    np.testing.assert_allclose(LOSSES["exponential"].value(y, f), [math.exp(-0.3), math.exp(0.3)])


@classification
def test_margins_of_a_hundred_thousand_are_harmless(loss):
    y = np.array([1.0, -1.0])
    right, wrong = y * 1e5, -y * 1e5
    for f in (loss.value(y, right), loss.pull(y, right), loss.curvature(y, right)):
        np.testing.assert_array_equal(f, 0.0)
    np.testing.assert_array_equal(loss.log_value(y * right), -1e5)
    assert np.isfinite(loss.log_value(y * wrong)).all()
    assert not np.isnan(loss.value(y, wrong)).any()
    assert not np.isnan(loss.pull(y, wrong)).any()


def test_the_logistic_loss_of_a_wrong_margin_is_the_margin_itself():
    y, f = np.array([1.0, -1.0]), np.array([-1e5, 1e5])
    np.testing.assert_array_equal(LOSSES["logistic"].value(y, f), 1e5)
    np.testing.assert_array_equal(LOSSES["logistic"].pull(y, f), y)
    np.testing.assert_array_equal(LOSSES["exponential"].log_value(y * f), 1e5)


@classification
@given(margin=st.floats(-600, 600))
def test_log_value_is_the_logarithm_of_the_value(loss, margin):
    value = loss.value(np.array(1.0), np.array(margin))
    assert loss.log_value(np.array(margin)) == pytest.approx(math.log(value), rel=1e-13, abs=1e-15)


def test_log_value_does_not_jump_where_its_form_changes():
    below, above = LOSSES["logistic"].log_value(np.array([FAR_MARGIN, np.nextafter(FAR_MARGIN, 99.0)]))
    assert above == pytest.approx(below, abs=1e-12)


def test_the_square_loss_has_no_margin():
    with pytest.raises(rl.InputError) as refusal:
        LOSSES["square"].log_value(np.array(1.0))
    assert str(refusal.value) == (
        "log_value needs a classification loss (logistic or exponential), found 'square': "
        "the square loss is not a function of the margin."
    )


@losses
def test_losses_go_by_name(loss):
    assert named_loss(loss.name) is loss
    assert named_loss(loss) is loss
    assert str(loss) == loss.name


@pytest.mark.parametrize("name", ["hinge", None])
def test_unknown_losses_are_refused(name):
    with pytest.raises(rl.InputError) as refusal:
        named_loss(name)
    assert str(refusal.value) == f"loss must be one of square, logistic, exponential, found {name!r}."
