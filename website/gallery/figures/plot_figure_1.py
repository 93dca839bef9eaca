"""
Figure 1 of Zhang, Saxe and Latham
==================================

Five networks of different slopes on symmetric data, theory dashed on top; in rescaled time they are all one linear network. The
paper's size is ``make reproduce-full``'s; this is a fifth of it.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.sine_teacher(inputs=20, pairs=200)
runs = []
for alpha in (0.0, 0.25, 0.5, 0.75, 1.0):
    net = rl.Network(inputs=20, widths=(100,), alpha=alpha)
    problem = rl.Problem(data, net, net.init(scale=1e-8, seed=0))
    runs.append(rl.simulate(problem, np.linspace(0, 60, 181)))

told = [rl.predict(run.problem, run.times) for run in runs]
labels = [f"α = {run.problem.network.alpha}" for run in runs]
figure = rl.plots.loss_curves(runs, labels=labels, predictions=told)

# %%
# In rescaled time.

collapsed = rl.plots.loss_curves(runs, labels=labels, rescale=lambda run: (run.problem.network.alpha + 1) / 2)
