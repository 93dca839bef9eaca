"""
Nearly symmetric data: how long the plateau lasts
=================================================

Move one of six symmetric points a little, and the network stays on the linear fit for a time that grows like one over the shift.
Perturbation theory gives the height, the beginning and the end.

It needs a small shift. At δ = 0.3 the same call follows the plateau, then predicts a loss that rises to 5.5 where the run falls to 0.3; the
error that it states (``told.loss_error``) is as large by then.
"""

import numpy as np

import rectilinear as rl
from rectilinear.theorems.perturbed_symmetry import plateau

net = rl.Network(inputs=2, widths=(100,))
runs, told = [], []
for delta in (0.2, 0.15, 0.1):
    problem = rl.Problem(rl.datasets.six_points(delta), net, net.init(scale=1e-3, seed=0))
    times = np.linspace(0, 1500, 301)
    runs.append(rl.simulate(problem, times))
    told.append(rl.predict(problem, times))

figure = rl.plots.loss_curves(runs, labels=["δ = 0.2", "δ = 0.15", "δ = 0.1"], predictions=told)

# %%
# The plateau of the last one, as theory sees it.

plateau(runs[-1].problem)
