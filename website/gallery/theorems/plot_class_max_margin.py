"""
Two classes, two linear networks
================================

On orthogonally separable classes every neuron serves one class, and each class's neurons end at its own maximum margin, like a power
of ln t.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.orthogonally_separable(samples=12, inputs=4, seed=0)
net = rl.Network(inputs=4, widths=(20,))
problem = rl.Problem(data, net, net.init(scale=1e-5, seed=0), loss="logistic")

times = np.linspace(0, 200, 201)
told = rl.predict(problem, times)
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run), log_loss=True)

# %%
# Much later the margins of each class have come together: the axis is log10 of time.

far = rl.simulate(problem, log10_times=np.geomspace(1, 1e5, 60))
margins = rl.plots.long_time(far)
