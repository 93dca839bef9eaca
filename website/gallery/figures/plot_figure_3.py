"""
Figure 3 of Zhang, Saxe and Latham
==================================

Three layers on symmetric data from small weights: every layer ends with one or two singular values, and neurons of one sign stand together.
"""

import numpy as np

import rectilinear as rl

rng = np.random.default_rng(0)
half = rng.standard_normal((10, 2))
x = np.concatenate([half, -half])
data = rl.Dataset(x, x @ [1.0, 0.5])
net = rl.Network(inputs=2, widths=(10, 10))
problem = rl.Problem(data, net, net.init(scale=0.3, seed=1))
run = rl.simulate(problem, np.linspace(0, 300, 151), rtol=1e-5)
figure = rl.plots.weight_matrices(run, sort=True)

# %%
# How they got there.

values = rl.plots.singular_values(run, largest=4)
