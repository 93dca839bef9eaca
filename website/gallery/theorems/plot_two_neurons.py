"""
Wide networks that train as two neurons
=======================================

Even inputs, an odd target, small random weights: however wide the network, it trains as one of width two, and the whole run can be
predicted without knowing more of the start than two numbers.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.sine_teacher(inputs=20, pairs=200)  # y = w.x + sin(4 w.x): far from linear
net = rl.Network(inputs=20, widths=(200,))
problem = rl.Problem(data, net, net.init(scale=1e-8, seed=0))

times = np.linspace(0, 60, 121)
told = rl.predict(problem, times)
run = rl.simulate(problem, times)
told.theorem, float(np.abs(told.loss - run.loss).max())

# %%
# The dashed line is theory. Below, by how much it is off.

figure = rl.plots.comparison(rl.compare(told, run))
