"""Problems: what fits together, what is refused, and the two losses."""

import numpy as np
import pytest

import rectilinear as rl

DATA = rl.Dataset([[1.0, 2.0], [-0.5, 1.0], [2.0, 0.1]], [1.0, -1.0, 1.0])
NET = rl.Network(2, (3,))
WEIGHTS = NET.init(1.0, seed=0)


def test_objective_is_the_loss_plus_half_l2_times_the_squares():
    problem = rl.Problem(DATA, NET, WEIGHTS, loss="logistic", l2=0.2)
    squares = sum(np.sum(w**2) for w in WEIGHTS)
    assert problem.objective(WEIGHTS) == pytest.approx(problem.data_loss(WEIGHTS) + 0.1 * squares, rel=1e-14)
    margins = DATA.y * problem.output(WEIGHTS)
    assert problem.data_loss(WEIGHTS) == pytest.approx(np.mean(np.log(1 + np.exp(-margins))), rel=1e-14)


def test_other_weights_leave_the_rest_alone():
    problem = rl.Problem(DATA, NET, WEIGHTS, "exponential", 0.3)
    other = problem.with_weights(NET.init(1.0, seed=1))
    assert (other.weights[0] != problem.weights[0]).any()
    assert (other.data, other.network, other.loss, other.l2) == (DATA, NET, problem.loss, 0.3)


def test_a_problem_does_not_change_with_the_arrays_it_was_given():
    mine = [w.copy() for w in WEIGHTS]
    problem = rl.Problem(DATA, NET, tuple(mine))
    mine[0][:] = 0.0
    np.testing.assert_array_equal(problem.weights[0], WEIGHTS[0])


def test_a_problem_prints_itself():
    problem = rl.Problem(DATA, NET, WEIGHTS, "logistic", 0.01)
    assert repr(problem) == "Problem: ReLU 2-3-1 on data (3 samples), logistic loss, l2 0.01"
    assert repr(rl.Problem(DATA, NET, WEIGHTS)) == "Problem: ReLU 2-3-1 on data (3 samples), square loss"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            {"network": rl.Network(3, (3,))},
            "the network must have as many inputs as the data, found 3 and 2; use Network(inputs=2, ...).",
        ),
        ({"weights": WEIGHTS[:1]}, "weights must hold 2 arrays, one per layer, found 1."),
        (
            {"weights": WEIGHTS[::-1]},
            "weights[0] must have shape (3, 2) (neurons out, neurons in), found (1, 3).",
        ),
        ({"loss": "hinge"}, "loss must be one of square, logistic, exponential, found 'hinge'."),
        ({"l2": -0.1}, "l2 must be a number >= 0, found -0.1."),
        ({"l2": float("inf")}, "l2 must be a number >= 0, found inf."),
        (
            {"data": rl.Dataset(DATA.x, [1.0, 0.0, 1.0]), "loss": "logistic"},
            "labels must be -1 or +1 for the logistic loss, found 0; recode them, e.g. y = np.where(y > 0, 1, -1).",
        ),
        (
            {"data": rl.Dataset(DATA.x, [1.0, -1.0, 2.5]), "loss": "exponential"},
            "labels must be -1 or +1 for the exponential loss, found 2.5; recode them, e.g. y = np.where(y > 0, 1, -1).",
        ),
    ],
)
def test_what_does_not_fit_together_is_refused(change, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.Problem(**{"data": DATA, "network": NET, "weights": WEIGHTS, **change})
    assert str(refusal.value) == sentence


def test_any_labels_do_for_the_square_loss():
    assert rl.Problem(rl.Dataset(DATA.x, [0.0, 7.0, -2.5]), NET, WEIGHTS).y.tolist() == [0.0, 7.0, -2.5]
