"""
Where training ends, without training
=====================================

On symmetric data the network ends where linear regression does. The theorem speaks of t = ∞; the run comes as close as one waits for.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.sine_teacher(inputs=5, pairs=50)
net = rl.Network(inputs=5, widths=(50,))
problem = rl.Problem(data, net, net.init(scale=1e-8, seed=0))

told = rl.predict(problem, [np.inf], theorem="limit")
best = np.linalg.lstsq(data.x, data.y)[0]
bool(np.allclose(told.linear_map[-1], best))

# %%
# How far the run still is from that, at every time.

from matplotlib.figure import Figure

run = rl.simulate(problem, np.linspace(0, 100, 201))
distance = np.linalg.norm(rl.measures.effective_linear_map(run, x=data.x) - told.linear_map[-1], axis=1)
figure = Figure(figsize=(5, 3.2), layout="constrained")
axes = figure.subplots()
axes.semilogy(run.times, distance)
axes.set(xlabel="time t", ylabel="distance from least squares")
