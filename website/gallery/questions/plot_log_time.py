"""
How do I see t = 10^100,000?
============================

On separable data directions converge like powers of ln t. Ask for ``log10_times``, and the same curve is followed by another clock.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.orthogonally_separable(samples=10, inputs=3, seed=1)
net = rl.Network(inputs=3, widths=(12,))
problem = rl.Problem(data, net, net.init(scale=1e-2, seed=0), loss="logistic")
far = rl.simulate(problem, log10_times=np.geomspace(1, 1e5, 80))
far

# %%
# Loss and margins over log10 t.

figure = rl.plots.long_time(far)
