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


MISTAKES = {
    "diagnose data": (
        lambda data, net: rl.diagnose(data),
        "diagnose takes a Problem (data, network, weights, loss), found Dataset; "
        "make one, e.g. Problem(data, Network(data.inputs, widths=(100,))).",
    ),
    "simulate data": (
        lambda data, net: rl.simulate(data, [0.0, 1.0]),
        "simulate takes a Problem (data, network, weights, loss), found Dataset; "
        "make one, e.g. Problem(data, Network(data.inputs, widths=(100,))).",
    ),
    "a tuple for data": (
        lambda data, net: rl.Problem((data.x, data.y), net),
        "a Problem takes a Dataset and a Network, in this order, found tuple and Network; "
        "write Problem(Dataset(x, y), Network(inputs, widths)).",
    ),
    "the wrong order": (
        lambda data, net: rl.Problem(net, data),
        "a Problem takes a Dataset and a Network, in this order, found Network and Dataset; "
        "write Problem(Dataset(x, y), Network(inputs, widths)).",
    ),
    "a word for a slope": (
        lambda data, net: rl.Network(2, (3,), alpha="relu"),
        "alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found 'relu'.",
    ),
    "far too wide": (
        lambda data, net: rl.Network(2, (10**12,)),
        "a network must have 1e+09 weights at most, to fit in memory, found 3e+12.",
    ),
    "an unknown loss": (
        lambda data, net: rl.Problem(data, net, loss="mse"),
        "loss must be one of square, logistic, exponential, found 'mse'; did you mean 'square'?",
    ),
    "an unknown theorem": (
        lambda data, net: rl.predict(rl.Problem(data, net), [1.0], theorem="two_neuron"),
        f"theorem must be one of {', '.join(rl.theorems.THEOREMS)}, found 'two_neuron'; did you mean 'two_neurons'?",
    ),
    "a time for a position": (
        lambda data, net: rl.descend(rl.Problem(data, net), 0.1, 3).weights_at(2.5),
        "weights_at takes the position of a saved time, from 0 to 3, found 2.5; "
        "the one nearest to a time t is np.abs(run.times - t).argmin().",
    ),
    "nan for a time": (
        lambda data, net: rl.simulate(rl.Problem(data, net), [0.0, np.nan]),
        "times must be numbers, found nan at position 1; drop it.",
    ),
}


@pytest.mark.parametrize(("call", "sentence"), MISTAKES.values(), ids=MISTAKES.keys())
def test_common_mistakes_get_a_sentence(call, sentence):
    with pytest.raises(rl.InputError) as refusal:
        call(rl.datasets.six_points(), rl.Network(2, (3,)))
    assert str(refusal.value) == sentence


def test_weights_have_a_documented_default():
    net = rl.Network(2, (3,))
    problem = rl.Problem(rl.datasets.six_points(), net)
    for one, other in zip(problem.weights, net.init(scale=1e-3, seed=0), strict=True):
        np.testing.assert_array_equal(one, other)


def test_only_public_names_are_listed():
    assert {"reproduce", "studies", "simulate"} <= set(dir(rl))
    assert not {"annotations", "tables", "version", "starts"} & set(dir(rl))
    assert rl.studies.MAKERS
    with pytest.raises(AttributeError, match=r"^module 'rectilinear' has no attribute 'banana'$"):
        rl.banana  # noqa: B018
