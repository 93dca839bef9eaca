"""Draw the figures of these pages: `python docs/figures.py` (or `make figures`) writes them beside this file, or to a folder named."""

import sys
from pathlib import Path

import numpy as np

import rectilinear as rl


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


FIGURES = {"sliding": sliding, "diagnose": diagnose}

if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for name, draw in FIGURES.items():
        draw().savefig(folder / f"{name}.png")
