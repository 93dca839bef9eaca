"""
White inputs: a formula for every moment
========================================

Where the inputs are white as well, nothing has to be integrated: the time course is a closed formula.
"""

import numpy as np

import rectilinear as rl

rng = np.random.default_rng(0)
half = np.linalg.qr(rng.standard_normal((12, 4)))[0] * np.sqrt(12)  # second moments: the identity
x = np.concatenate([half, -half])
data = rl.Dataset(x, x @ [1.0, -0.5, 0.25, 0.0] + 0.5 * np.sin(3 * x[:, 0]))
net = rl.Network(inputs=4, widths=(30,))
problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0, start="rank_one"))

times = np.linspace(0, 30, 121)
told = rl.predict(problem, times, theorem="time_course")
run = rl.simulate(problem, times)
figure = rl.plots.comparison(rl.compare(told, run))
