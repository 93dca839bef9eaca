"""
What does t mean for my learning rate and steps?
================================================

Step k of gradient descent with learning rate η is at t = η k. The smaller η, the nearer is descent to the flow.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.six_points(delta=0.3)
net = rl.Network(inputs=2, widths=(20,))
problem = rl.Problem(data, net, net.init(scale=1e-2, seed=0))
flow = rl.simulate(problem, np.linspace(0, 300, 301))
steps = [
    rl.descend(problem, learning_rate=rate, steps=int(300 / rate), record_every=max(1, int(1 / rate))) for rate in (1.0, 0.1)
]
figure = rl.plots.loss_curves([flow, *steps], labels=["flow", "η = 1", "η = 0.1"])
