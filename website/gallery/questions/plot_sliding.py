"""
Why does my solver stall, and what do neurons do at kinks?
==========================================================

A neuron that is pushed onto a kink from both sides stays on it: it slides. Ordinary solvers step to and fro across it for ever.
``simulate`` locates, decides and certifies every such event.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.six_points(delta=0.15)
net = rl.Network(inputs=2, widths=(40,))
problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0))
run = rl.simulate(problem, np.linspace(0, 1500, 301))
run.events

# %%
# A row per neuron: bars are the times at which it slides.

figure = rl.plots.kink_events(run)
