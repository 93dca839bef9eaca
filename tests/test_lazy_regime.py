"""Large weights, small labels: the loss curve is as exact as the weights, although these hardly move."""

import numpy as np
import pytest

from rectilinear import Dataset, FlowError, Network, Problem, simulate


@pytest.mark.parametrize(("seed", "samples"), [*((seed, 3) for seed in range(5)), (5, 60)])
def test_the_loss_is_that_of_the_constant_kernel(seed: int, samples: int) -> None:
    """Weights of size 10 fit labels of size 1e-6 by changing by 1e-7 of themselves, so the kernel J J^T/n is constant to that.

    So many samples would be followed neuron by neuron, if weights were of the size of the labels.
    """
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((samples, 4)), 1e-6 * rng.standard_normal(samples)
    net = Network(inputs=4, widths=(6 if samples == 3 else 20,))
    w, a = net.init(scale=10.0, seed=seed, start="antisymmetric")
    run = simulate(Problem(Dataset(x, y), net, (w, a)), times=np.append(0.0, np.geomspace(1e-3, 1e3, 13)))
    active = (x @ w.T > 0.0).astype(float)
    jacobian = np.concatenate([np.einsum("ih,h,id->ihd", active, a[0], x).reshape(samples, -1), active * (x @ w.T)], axis=1)
    rates, modes = np.linalg.eigh(jacobian @ jacobian.T / samples)
    residuals = np.exp(-np.multiply.outer(run.times, rates)) * (modes.T @ y)
    assert np.allclose(run.loss, 0.5 * np.mean(residuals**2, axis=1), rtol=0.0, atol=1e-6 * run.loss[0])
    assert run.audit is not None
    assert run.audit.loss_rise < 1e-12


def test_margins_whose_squared_pulls_are_no_numbers_are_refused_in_a_sentence() -> None:
    rng = np.random.default_rng(0)
    x, net = rng.standard_normal((30, 6)), Network(inputs=6, widths=(40,))
    w, a = net.init(scale=1.0, seed=0)
    problem = Problem(Dataset(x, -np.ones(30)), net, (30.0 * np.abs(w), 300.0 * np.abs(a)), loss="exponential")
    with pytest.raises(FlowError, match="the gradient must be finite at the start"):
        simulate(problem, times=[1.0])
