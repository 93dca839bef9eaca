"""
The early phase: exponential growth along one direction
=======================================================

While the outputs are small against the labels, neurons do not see each other. On symmetric data all of them grow along the one
direction of the input-output correlation, exponentially.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.sine_teacher(inputs=10, pairs=100)
net = rl.Network(inputs=10, widths=(30,))
problem = rl.Problem(data, net, net.init(scale=1e-6, seed=0))

last = rl.theorems.THEOREMS["early_phase"].window(problem)[1]  # the theorem says how long it holds
times = np.linspace(0, last, 60)
told = rl.predict(problem, times, theorem="early_phase")
run = rl.simulate(problem, times)
float(last)

# %%
# The size of the weights, and how much of them lies along that direction.

from matplotlib.figure import Figure

beta = data.correlation / np.linalg.norm(data.correlation)
first = run.weights[0]
figure = Figure(figsize=(8, 3), layout="constrained")
sizes, shares = figure.subplots(1, 2)
sizes.semilogy(times, np.linalg.norm(first, axis=(1, 2)), label="simulation")
sizes.semilogy(times, np.linalg.norm(told.weights[0], axis=(1, 2)), "k--", label="theory")
sizes.set(xlabel="time t", ylabel="norm of the first layer")
sizes.legend()
shares.plot(times, np.linalg.norm(first @ beta, axis=1) / np.linalg.norm(first, axis=(1, 2)))
shares.set(xlabel="time t", ylabel="share along the correlation", ylim=(0, 1.05))
