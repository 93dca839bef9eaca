"""Draw the figures of these pages: `python docs/figures.py` (or `make figures`) writes them beside this file, or to a folder named."""

import sys
from pathlib import Path

import numpy as np

import rectilinear as rl
from rectilinear.plots.style import colour, panels, paper


def sliding():
    """Figure 2's problem through all of its kinks."""
    net = rl.Network(inputs=2, widths=(100,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.15), net, net.init(scale=1e-3, seed=0))
    return rl.plots.kink_events(rl.simulate(problem, times=[0, 60_000], stop_loss=1e-12))


def diagnose():
    """Digits with their mirror images, as predicted, and as they are."""
    digits, net = rl.datasets.digits(first=0, second=1), rl.Network(inputs=64, widths=(100,))
    weights, times = net.init(scale=1e-4, seed=0), np.linspace(0, 40, 201)
    alone, mirrored = rl.Problem(digits, net, weights), rl.Problem(digits.symmetrised(), net, weights)
    runs = [rl.simulate(alone, times, rtol=1e-5), rl.simulate(mirrored, times, rtol=1e-5)]
    names = ["digits as they are", "with mirror images"]
    return rl.plots.loss_curves(runs, labels=names, predictions=rl.predict(mirrored, times), log_loss=True)


@paper
def wrongly_sent():
    """A neuron that meets several kinks at almost the same time, and goes where unresolved crossings send it."""
    rng = np.random.default_rng(0)
    net = rl.Network(inputs=5, widths=(7,))
    data = rl.Dataset(rng.standard_normal((200, 5)), rng.standard_normal(200))
    problem = rl.Problem(data, net, net.init(scale=0.05, seed=0), l2=0.02)
    times = np.linspace(0, 5, 251)
    exact = rl.simulate(problem, times, method="follow", rtol=1e-6)
    # At these tolerances last digits do not decide: of twelve starts 3e-8 apart all go the same way.
    plain = {rtol: rl.simulate(problem, times, method="plain", rtol=rtol) for rtol in (1e-3, 3e-4, 1e-4)}
    figure, (path, errors) = panels(8.0, 3.2, columns=2)
    path.plot(times, exact.weights[0][:, 4, 0], color=colour(0), label="followed")
    for k, (rtol, run) in enumerate(plain.items(), 1):
        path.plot(times, run.weights[0][:, 4, 0], "--", color=colour(k), label=f"plain steps, rtol {rtol:g}")
        error = np.abs(run.weights[0] - exact.weights[0]).max(axis=(1, 2)) / np.abs(exact.weights[0]).max()
        errors.plot(times[1:], error[1:], "--", color=colour(k))
    path.set(xlabel="t", ylabel="first weight of neuron 5", title="Which way?")
    errors.set(yscale="log", xlabel="t", ylabel="largest error of the weights", title="Is tighter better?")
    path.legend()
    return figure


RESOLUTION = 220  # dots per inch: twice what a page shows
FIGURES = {"sliding": sliding, "diagnose": diagnose, "wrongly_sent": wrongly_sent}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png", dpi=RESOLUTION)
