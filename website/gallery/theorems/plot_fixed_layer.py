"""
A fixed second layer: every sample by its own clock
===================================================

In the setting of Kou, Chen and Gu the second layer stays as it is. On orthogonal inputs every sample then runs by a clock of its own,
in closed form, to any time.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.orthogonal(samples=6, inputs=12)
net = rl.Network(inputs=12, widths=(16,), alpha=0.1, trainable=(True, False))
problem = rl.Problem(data, net, net.init(scale=0.1, seed=0, start="two_class"), loss="logistic")

times = np.geomspace(0.1, 1000, 120)
told = rl.predict(problem, times)
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run), log_time=True, log_loss=True)
