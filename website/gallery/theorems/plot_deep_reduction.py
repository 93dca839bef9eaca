"""
Deep networks on low-rank weights
=================================

Once the weights of a deep ReLU network have the low-rank form of Figure 3, it is a deep linear network at another speed, and stays one.
"""

import numpy as np

import rectilinear as rl
from rectilinear.reduced.deep_structure import aligned_deep_weights

rng = np.random.default_rng(0)
half = rng.standard_normal((20, 3))
x = np.concatenate([half, -half])
data = rl.Dataset(x, x @ [1.0, -1.0, 0.5])
net = rl.Network(inputs=3, widths=(6, 8))
problem = rl.Problem(data, net, aligned_deep_weights(net, r=data.correlation, u=0.3, seed=0))

times = np.linspace(0, 8, 81)
told = rl.predict(problem, times, theorem="deep_reduction")
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run))

# %%
# Its weights at the end: one block for each sign.

matrices = rl.plots.weight_matrices(run, sort=True)
