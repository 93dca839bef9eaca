"""Tables that people have: what a diagnosis expects of them, against the simulation, within the error it states."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.diagnose import Verification, curves, look_ahead
from rectilinear.diagnose.card import verification_sentence


def iris():
    from sklearn.datasets import load_iris

    flowers = load_iris()
    two = flowers.target > 0
    return rl.Dataset(flowers.data[two], np.where(flowers.target[two] == 2, 1.0, -1.0), "iris").standardised()


def formula(samples):
    """Eight columns, one of them skewed; a kinked and curved target."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((samples, 8))
    x[:, 3] = np.abs(x[:, 3]) - 0.8
    y = x[:, 0] - 0.5 * x[:, 1] + np.abs(x[:, 2] + 0.3 * x[:, 3]) + 0.3 * np.sin(2 * x[:, 4])
    return rl.Dataset(x, y - y.mean(), "formula")


def some(data, samples):
    """Every k-th sample, so that both classes are there."""
    rows = np.unique(np.linspace(0, data.samples - 1, samples).astype(int))
    return rl.Dataset(data.x[rows], data.y[rows], data.name)


TABLES = {
    "digits": (lambda: rl.datasets.digits(3, 8), 120, "logistic"),
    "breast_cancer": (lambda: rl.datasets.breast_cancer(), 150, "logistic"),
    "diabetes": (lambda: rl.datasets.diabetes(), 150, "square"),
    "iris": (iris, 100, "logistic"),
    "formula": (lambda: formula(20_000), 200, "square"),
}


def verified(data, loss, width):
    net = rl.Network(data.inputs, (width,))
    return rl.diagnose(rl.Problem(data, net, net.init(1e-3, seed=0), loss=loss), verify=True)


def agrees(found):
    """What is shown is within the error stated: the curve, and the rows of losses and times."""
    ahead, seen = found.outlook.ahead, found.verified
    assert seen.agrees
    assert seen.run.status is rl.Status.FINISHED
    (_, expected_drop, drop), (_, expected_loss, loss) = seen.rows
    slack = ahead.time_error + ahead.error
    assert abs(expected_drop - drop) <= 2 * slack * drop
    assert abs(expected_loss - loss) <= ahead.error * seen.run.loss[0]
    assert "within the" in repr(found)
    return ahead


@pytest.mark.parametrize("name", TABLES)
def test_slices_of_real_tables_do_what_was_expected(name):
    make, samples, loss = TABLES[name]
    ahead = agrees(verified(some(make(), samples), loss, width=12))
    assert ahead.samples == samples
    assert ahead.error < 0.02
    assert ahead.time_error < 0.05


@pytest.mark.parametrize("loss", ["square", "logistic", "exponential"])
def test_a_part_of_the_samples_stands_for_all_within_its_error(monkeypatch, loss):
    monkeypatch.setattr(look_ahead, "WORK", 8 * 12 * 100)
    monkeypatch.setattr(look_ahead, "WORK_OF_PARTS", 8 * 12 * 250)
    data = formula(1200)
    labels = data.y if loss == "square" else np.where(data.y + 0.3 * data.x[:, 5] > 0, 1.0, -1.0)
    found = verified(rl.Dataset(data.x, labels, "formula"), loss, width=12)
    ahead = agrees(found)
    assert ahead.samples == 250
    assert "simulated of 250 samples of 1200, drawn at random" in " ".join(repr(found).split())
    told = json.loads(found.to_json())
    assert told["outlook"]["ahead"]["samples"] == 250
    assert told["verified"]["found_error"] <= told["verified"]["stated_error"] + 1e-6
    page = rl.report.diagnosis_page(found)
    assert "simulated of 250 samples of 1200" in page
    assert "The band is what the short simulation may be off by" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_whole_tables_do_what_was_expected(name):
    make, _, loss = TABLES[name]
    agrees(verified(make(), loss, width=50))


def test_a_simulation_that_leaves_the_error_is_said_to():
    found = verified(some(formula(400), 60), "square", width=6)
    wrong = Verification(found.verified.run, None, (), stated=1e-9, found=0.1)
    assert wrong.agrees is False
    assert "losses differ by 10 % of the first, more than the 1e-07 % stated" in verification_sentence(wrong)


def test_losses_that_differ_by_their_times_alone_are_said_to():
    found = verified(some(formula(400), 60), "square", width=6)
    early = Verification(found.verified.run, None, (), stated=3e-3, found=0.0, time_error=0.02)
    assert early.judgement == "allowing times to be off by 2 %, losses do not differ (0.3 % of the first was stated)"
    assert f"Allowing {early.judgement[9:]}." in rl.report.diagnosis_page(replace(found, verified=early))


def test_curves_that_are_early_are_near_at_other_times_only():
    t = np.linspace(0.0, 10.0, 201)
    slow, fast = np.exp(-t), np.exp(-1.1 * t)
    factor, besides = curves.apart(t, slow, fast)
    assert factor == pytest.approx(1 / 1.1, rel=1e-3)
    assert besides.max() < 2e-3
    assert curves.outside(t, fast, slow, 0.11).max() < 1e-4
    assert curves.outside(t, fast, slow, 0.0).max() == pytest.approx(np.abs(fast - slow).max())
    assert curves.apart(t, np.ones(201), np.ones(201)) == (1.0, pytest.approx(np.zeros(201)))
