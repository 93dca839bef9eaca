"""The README's film: the neurons of Figure 2 of Zhang et al., from the start to the end.

python docs/figure_2_film.py docs/figure_2.gif
"""

import sys

import numpy as np

import rectilinear as rl
from rectilinear.plots.film import Film


def film() -> Film:
    net = rl.Network(inputs=2, widths=(100,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.15), net, net.init(scale=1e-3, seed=0))
    growth, plateau, escape = np.linspace(0, 60, 19), np.linspace(80, 580, 9), np.linspace(600, 1000, 28)
    return rl.plots.animate(rl.simulate(problem, np.concatenate([growth, plateau, escape])), frames=56, seconds=7.0)


if __name__ == "__main__":
    film().save(sys.argv[1])
