"""
XOR: four linear networks
=========================

On the four corners of XOR, neurons sort themselves by the corner that they see, and the network is four linear ones.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.xor()
net = rl.Network(inputs=2, widths=(50,))
problem = rl.Problem(data, net, net.init(scale=1e-4, seed=0))

times = np.linspace(0, 60, 121)
told = rl.predict(problem, times)
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run))

# %%
# The neurons at the end.

neurons = rl.plots.neuron_directions(net, run.final, data)
