"""PyTorch models in and out: the same function, the same gradients, and a sentence for every model that does not fit.

These tests need torch, which the benchmark environment has: `make test-torch` runs them there, and elsewhere they are skipped.
"""

import copy
import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import rectilinear as rl

ROUNDING = 1e-12


@pytest.fixture(scope="module")
def torch():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, while it is imported
        return pytest.importorskip("torch")


NETWORKS = {
    "ReLU": rl.Network(3, (5,)),
    "leaky": rl.Network(3, (5,), alpha=0.2),
    "linear": rl.Network(3, (5,), alpha=1.0),
    "deep": rl.Network(4, (6, 3, 2), alpha=0.1),
    "bias": rl.Network(2, (5, 4), bias=True),
    "fixed": rl.Network(3, (4,), trainable=(True, False)),
    "fixed with bias": rl.Network(3, (4,), bias=True, trainable=(False, True)),
}


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_there_and_back_changes_nothing(torch, network):
    weights = network.init(scale=1.0, seed=0)
    back, same = rl.from_torch(rl.to_torch(network, weights))
    assert back == network
    for one, other in zip(weights, same, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS.keys())
def test_outputs_and_gradients_are_those_of_torch(torch, network):
    rng = np.random.default_rng(1)
    data = rl.Dataset(rng.standard_normal((20, network.inputs)), rng.standard_normal(20))
    problem = rl.Problem(data, network, network.init(scale=1.0, seed=2))
    model = rl.to_torch(network, problem.weights)
    output = model(torch.tensor(np.array(data.x)))[:, 0]
    np.testing.assert_allclose(output.detach().numpy(), problem.output(problem.weights), rtol=ROUNDING, atol=ROUNDING)
    loss = ((torch.tensor(np.array(data.y)) - output) ** 2).mean() / 2
    loss.backward()
    for layer, gradient, moves in zip(model[::2], problem.gradient(problem.weights), network.trainable_layers, strict=True):
        if not moves:
            assert layer.weight.grad is None
            continue
        parts = [layer.weight.grad] if layer.bias is None else [layer.weight.grad, layer.bias.grad[:, None]]
        np.testing.assert_allclose(torch.cat(parts, 1).numpy(), gradient, rtol=ROUNDING, atol=ROUNDING)


def test_a_model_in_single_precision_keeps_its_numbers(torch):
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 7, bias=False), nn.LeakyReLU(0.25), nn.Linear(7, 1, bias=False))
    network, weights = rl.from_torch(model)
    assert network == rl.Network(3, (7,), alpha=0.25)
    np.testing.assert_array_equal(weights[0].astype(np.float32), model[0].weight.detach().numpy())
    before = copy.deepcopy(model.state_dict())
    x = torch.randn(10, 3)
    np.testing.assert_allclose(network.output(weights, x.numpy()), model(x)[:, 0].detach().numpy(), rtol=1e-5, atol=1e-6)
    assert all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())


def test_weights_are_copies(torch):
    network, weights = NETWORKS["ReLU"], NETWORKS["ReLU"].init(scale=1.0, seed=0)
    model = rl.to_torch(network, weights)
    _, read = rl.from_torch(model)
    with torch.no_grad():
        model[0].weight.zero_()
    np.testing.assert_array_equal(read[0], weights[0])


def test_a_descent_in_torch_is_the_descent_here(torch):
    network = rl.Network(2, (8,))
    problem = rl.Problem(rl.datasets.six_points(), network, network.init(scale=0.5, seed=0))
    model = rl.to_torch(problem.network, problem.weights)
    x, y = (torch.tensor(np.array(values)) for values in (problem.data.x, problem.data.y))
    optimiser = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(100):
        optimiser.zero_grad()
        (((y - model(x)[:, 0]) ** 2).mean() / 2).backward()
        optimiser.step()
    ours = rl.descend(problem, learning_rate=0.05, steps=100, record_every=100)
    for theirs, mine in zip(rl.from_torch(model)[1], ours.final, strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-10, atol=1e-12)


def test_linearity_takes_modules_of_any_precision(torch):
    network = NETWORKS["deep"]
    weights = tuple(np.float32(layer) for layer in network.init(scale=1.0, seed=0))
    x = np.random.default_rng(0).standard_normal((50, 4))
    ours = rl.linearity(lambda inputs: network.output(network.check_weights(weights), inputs), x)
    for precision in (torch.float32, torch.float64):
        model = rl.to_torch(network, weights).to(precision)
        theirs = rl.linearity(model, x)
        assert model[0].weight.dtype == precision
        for name, estimate in ours.estimates.items():
            assert theirs.estimates[name].value == pytest.approx(estimate.value, rel=1e-9, abs=1e-12), name


def test_rounding_in_single_precision_is_not_taken_for_pieces(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 50, bias=False), torch.nn.ReLU(), torch.nn.Linear(50, 1, bias=False))
    x = np.random.default_rng(0).standard_normal((200, 5))
    found = rl.linearity(lambda inputs: model(torch.tensor(inputs, dtype=torch.float32)).detach().numpy(), x)
    assert (found.pieces_from_origin.value, found.pieces_from_origin.high) == (1.0, 1.0)


def test_smooth_activations_are_called_smooth(torch):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 50), torch.nn.GELU(), torch.nn.Linear(50, 1))
    found = rl.linearity(model, np.random.default_rng(0).standard_normal((100, 5)))
    assert "not piecewise linear (smooth) between samples" in repr(found)


def test_one_of_several_outputs(torch):
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(3, 4, bias=False), nn.ReLU(), nn.Linear(4, 2, bias=False))
    x = np.random.default_rng(0).standard_normal((20, 3))
    network, weights = rl.from_torch(model, output=1)
    with torch.no_grad():
        second = model.double()(torch.tensor(x))[:, 1].numpy()
    np.testing.assert_allclose(network.output(weights, x), second, rtol=ROUNDING, atol=ROUNDING)
    assert rl.linearity(model, x, output=1).even_energy.value > 0
    with pytest.raises(rl.InputError, match=r"choose one of several by output=0\.$"):
        rl.linearity(model, x)
    with pytest.raises(rl.InputError, match=r"the model must take inputs of shape \(\d+, 2\), found that it does not: mat1"):
        rl.linearity(model, x[:, :2])
    with pytest.raises(rl.InputError, match=r"^output must be one of the 2 outputs, counted from 0, found 2\.$"):
        rl.from_torch(model, output=2)


def test_nested_models_with_layers_that_change_nothing(torch):
    nn = torch.nn
    last = nn.Linear(4, 1)
    last.bias = nn.Parameter(torch.zeros(1), requires_grad=False)
    inner = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.5))
    model = nn.Sequential(nn.Flatten(), inner, nn.Identity(), last).eval()
    network, weights = rl.from_torch(model)
    assert network == rl.Network(3, (4,), bias=True)
    x = torch.randn(6, 3)
    np.testing.assert_allclose(network.output(weights, x.numpy()), model(x)[:, 0].detach().numpy(), rtol=1e-5, atol=1e-6)


def test_pages_about_torch_run_as_they_stand(torch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = (Path(__file__).parent.parent / "docs" / "pytorch.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    assert len(blocks) == 2
    exec("\n".join(blocks), {})
    assert (tmp_path / "training.png").stat().st_size > 0


def test_a_watch_sees_what_the_measures_see(torch):
    network = rl.Network(2, (8,))
    problem = rl.Problem(rl.datasets.six_points(), network, network.init(scale=0.5, seed=0))
    model = rl.to_torch(network, problem.weights)
    seen = rl.watch(model, problem.data, learning_rate=0.1, every=2)
    assert seen(0).loss == pytest.approx(problem.data_loss(problem.weights))
    assert seen(1) is None
    assert seen.snapshots[0].rank_one_residual == pytest.approx(rl.measures.rank_one_residual(network, problem.weights))
    assert seen.snapshots[0].even_fraction == pytest.approx(
        rl.measures.even_fraction(network, problem.weights, problem.data.x)
    )
    seen(2)  # not trained at all, so it lags behind the flow
    assert seen.distances()[0] == pytest.approx(0.0, abs=1e-12)
    assert seen.distances()[1] > 0
    assert seen.to_pandas()["step"].tolist() == [0, 2]
    with pytest.raises(rl.InputError, match=r"^steps must rise, found 2 after 2; make a new watch for a new training\.$"):
        seen.look(2)


def test_a_watch_of_another_model_says_what_it_cannot_know(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    seen = rl.watch(model, rl.datasets.six_points(), learning_rate=0.1)
    assert np.isnan(seen(0).patterns)
    assert "alignment, patterns and flow are not known: layers must be Linear" in repr(seen)
    with pytest.raises(rl.InputError, match=r"^the flow of this model is not known: layers must be Linear"):
        seen.flow()


def test_a_watch_refuses_what_it_cannot_use(torch):
    model = torch.nn.Linear(2, 1)
    with pytest.raises(rl.InputError, match=r"^watch takes a Dataset, found list; write Dataset\(x, y\)\.$"):
        rl.watch(model, [[1.0]], 0.1)
    with pytest.raises(rl.InputError, match=r"^learning_rate and every must be positive, found 0 and 100\.$"):
        rl.watch(model, rl.datasets.six_points(), 0)


def sequential(*layers):
    return lambda nn: nn.Sequential(*(make(nn) for make in layers))


def linear(inputs, outputs, bias=False):
    return lambda nn: nn.Linear(inputs, outputs, bias=bias)


def half_trained(nn):
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1, bias=False))
    model[0].bias.requires_grad_(False)
    return model


def relu(nn):
    return nn.ReLU()


WAY_OUT = ", or measure the model as it is by linearity(model, x)"
ORDER = "layers must be Linear, activation, Linear, ..., Linear"
REFUSALS = {
    "not a model": (
        lambda nn: 3,
        f"a torch.nn.Sequential is required, found int; put its layers into a Sequential{WAY_OUT}.",
    ),
    "one layer": (
        linear(2, 1),
        f"a torch.nn.Sequential is required, found Linear; put its layers into a Sequential{WAY_OUT}.",
    ),
    "empty": (sequential(), f"{ORDER}, with one hidden layer at least, found 0: none."),
    "no hidden layer": (sequential(linear(2, 1)), f"{ORDER}, with one hidden layer at least, found 1: Linear."),
    "activation last": (
        sequential(linear(2, 3), relu, linear(3, 1), relu),
        f"{ORDER}, with one hidden layer at least, found 4: Linear, ReLU, Linear, ReLU.",
    ),
    "other activation": (
        sequential(linear(2, 3), lambda nn: nn.Tanh(), linear(3, 1)),
        f"{ORDER}: a ReLU or LeakyReLU is required at position 1, found Tanh{WAY_OUT}.",
    ),
    "no activation": (
        sequential(linear(2, 3), linear(3, 1)),
        f"{ORDER}: a ReLU or LeakyReLU is required at position 1, found Linear{WAY_OUT}.",
    ),
    "other layer": (
        sequential(linear(2, 3), relu, lambda nn: nn.LayerNorm(3), linear(3, 1)),
        f"{ORDER}: a Linear is required at position 2, found LayerNorm{WAY_OUT}.",
    ),
    "dropout while training": (
        sequential(linear(2, 3), relu, lambda nn: nn.Dropout(), linear(3, 1)),
        "Dropout is random while a model trains; call model.eval() first.",
    ),
    "differing slopes": (
        sequential(linear(2, 3), relu, linear(3, 3), lambda nn: nn.LeakyReLU(0.1), linear(3, 1)),
        "all activations must have the same slope on the negative side, found 0.0, 0.1.",
    ),
    "steep slope": (
        sequential(linear(2, 3), lambda nn: nn.LeakyReLU(1.5), linear(3, 1)),
        "alpha must lie in [0, 1] (0 is ReLU, 1 is linear), found 1.5.",
    ),
    "hidden bias": (
        sequential(linear(2, 3), relu, linear(3, 3, bias=True), relu, linear(3, 1)),
        "only the first Linear may have a bias (a Network's biases are a constant input), found one at position 2; "
        f"build it with bias=False{WAY_OUT}.",
    ),
    "output bias": (
        sequential(linear(2, 3, bias=True), relu, linear(3, 1, bias=True)),
        "only the first Linear may have a bias (a Network's biases are a constant input), found one at position 2; "
        f"build it with bias=False{WAY_OUT}.",
    ),
    "two outputs": (
        sequential(linear(2, 3), relu, linear(3, 2)),
        "the last Linear must have one output, found 2; choose one by output=0, or for two classes train one output on labels "
        "-1 and +1.",
    ),
    "sizes": (
        sequential(linear(2, 3), relu, linear(4, 1)),
        "each Linear must take what the one before gives, found 3 outputs of the one at position 0 and 4 inputs of the next.",
    ),
    "half trained": (
        half_trained,
        "weight and bias of a Linear must train together, found requires_grad True and False at position 0.",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), REFUSALS.values(), ids=REFUSALS.keys())
def test_models_that_do_not_fit_are_refused(torch, make, sentence):
    with pytest.raises(rl.InputError) as refusal:
        rl.from_torch(make(torch.nn))
    assert str(refusal.value) == sentence


def test_parametrised_layers_are_refused(torch):
    nn = torch.nn
    model = nn.Sequential(
        nn.utils.parametrizations.weight_norm(nn.Linear(2, 3, bias=False)), nn.ReLU(), nn.Linear(3, 1, bias=False)
    )
    with pytest.raises(rl.InputError, match="a Linear is required at position 0, found ParametrizedLinear"):
        rl.from_torch(model)


def test_wrong_weights_are_refused(torch):
    with pytest.raises(rl.InputError, match="weights must hold 2 arrays, one per layer, found 1"):
        rl.to_torch(NETWORKS["ReLU"], (np.ones((5, 3)),))


@pytest.mark.parametrize("call", [lambda: rl.from_torch(None), lambda: rl.to_torch(rl.Network(1, (1,)), ([[1.0]], [[1.0]]))])
def test_without_torch_the_functions_say_what_they_need(monkeypatch, call):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(rl.InputError) as refusal:
        call()
    assert str(refusal.value) == "torch is required for PyTorch models and is not installed; install torch."
