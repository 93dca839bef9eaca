"""
Figure 2 of Zhang, Saxe and Latham
==================================

Six points, one of them moved by 0.15: a long linear plateau, then a solution that is not linear.
"""

import numpy as np

import rectilinear as rl

data = rl.datasets.six_points(delta=0.15)
net = rl.Network(inputs=2, widths=(100,))
problem = rl.Problem(data, net, net.init(scale=1e-3, seed=0))
run = rl.simulate(problem, np.linspace(0, 2000, 401), stop_loss=1e-20)
figure = rl.plots.loss_curves(run, log_loss=True)

# %%
# On the plateau the boundary is a straight line, in the end it is not.

plateau = rl.plots.output_field(net, run.weights_at(70), data)
end = rl.plots.output_field(net, run.final, data)

# %%
# Who met which kink when.

events = rl.plots.kink_events(run)
