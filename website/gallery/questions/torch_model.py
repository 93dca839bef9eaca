"""
How linear is my PyTorch model?
===============================

This one needs PyTorch, which the site is built without, so its output is not shown; the tests run the same calls.
"""

import torch

import rectilinear as rl

model = torch.nn.Sequential(
    torch.nn.Linear(2, 20, bias=False),
    torch.nn.ReLU(),
    torch.nn.Linear(20, 1, bias=False),
)
net, weights = rl.from_torch(model)
data = rl.datasets.six_points()
print(rl.diagnose(rl.Problem(data, net, weights)))

# %%
# Any function of the inputs can be asked how linear it is, whatever the model's architecture.

print(rl.linearity(model, data.x))
