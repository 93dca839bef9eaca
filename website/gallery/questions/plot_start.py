"""
How much does the start matter?
===============================

Small weights learn features, large ones hardly move: the same data from three sizes of start.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.gaussian_teacher(inputs=5, samples=60)
net = rl.Network(inputs=5, widths=(100,))
runs = [
    rl.simulate(rl.Problem(data, net, net.init(scale=scale, seed=0)), np.geomspace(0.01, 100, 120), rtol=1e-4)
    for scale in (1e-3, 1.0, 10.0)
]
figure = rl.plots.loss_curves(runs, labels=["scale 0.001", "scale 1", "scale 10"], log_time=True, log_loss=True)

# %%
# How many directions the first layer uses in the end.

[float(rl.measures.stable_rank(run)[-1, 0].round(2)) for run in runs]
