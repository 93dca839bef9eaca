"""
Nearly orthogonal data: low stable rank
=======================================

On nearly orthogonal classes the weights of each sign become a matrix of rank one (leaky ReLU), and all samples get the same margin. The
theorem speaks of t = ∞; the run goes to t = 10¹⁰⁰⁰.
"""

import numpy as np
from matplotlib.figure import Figure

import rectilinear as rl

data = rl.datasets.nearly_orthogonal(samples=8, inputs=2000)
net = rl.Network(inputs=2000, widths=(16,), alpha=0.1, trainable=(True, False))
problem = rl.Problem(data, net, net.init(scale=0.1, seed=0, start="two_class"), loss="logistic")
told = rl.predict(problem, [np.inf])
told.theorem

# %%
# Stable ranks of the two signs and the spread of the margins, against log10 of time.

far = rl.simulate(problem, log10_times=np.geomspace(1, 1000, 30))
ranks = rl.measures.stable_rank_by_sign(far)
figure = Figure(figsize=(8, 3), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogx(far.log10_times, ranks, label=["a > 0", "a < 0"])
left.set(xlabel="log10 t", ylabel="stable rank")
left.legend()
margins = far.normalised_margins
right.loglog(far.log10_times, margins.max(axis=1) / margins.min(axis=1) - 1)
right.set(xlabel="log10 t", ylabel="largest over smallest margin − 1")
