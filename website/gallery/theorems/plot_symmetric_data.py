"""
Leaky ReLU networks in the time of a linear one
===============================================

From rank-one weights, networks of any slope on the negative side are a linear network whose clock runs (1 + α)/2 times as fast: the
curves fall onto one when they are drawn in that time.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.linear_teacher(inputs=10, pairs=60)
runs = []
for alpha in (0.0, 0.25, 0.5, 1.0):
    net = rl.Network(inputs=10, widths=(40,), alpha=alpha)
    problem = rl.Problem(data, net, net.init(scale=1e-2, seed=0, start="rank_one"))
    runs.append(rl.simulate(problem, np.linspace(0, 40, 161)))

told = [rl.predict(run.problem, run.times, theorem="symmetric_data") for run in runs]
labels = [f"α = {run.problem.network.alpha}" for run in runs]
figure = rl.plots.loss_curves(runs, labels=labels, predictions=told)

# %%
# The same in rescaled time.

collapsed = rl.plots.loss_curves(runs, labels=labels, rescale=lambda run: (run.problem.network.alpha + 1) / 2)
