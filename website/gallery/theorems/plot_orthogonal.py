"""
Orthogonal inputs: a linear network per sign and active set
===========================================================

Samples at right angles to each other do not disturb each other. Which neurons learn which sample is decided at the start, and the
loss falls once they have grown.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.orthogonal(samples=4, inputs=6)
net = rl.Network(inputs=6, widths=(50,))
problem = rl.Problem(data, net, net.init(scale=1e-4, seed=0))

times = np.linspace(0, 100, 201)
told = rl.predict(problem, times)
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run))
