"""
What will a bias-free network do with my table?
===============================================

``Dataset.from_file`` reads tables as they come; ``diagnose`` says what a network of your size will and cannot learn from it.
"""

import tempfile
from pathlib import Path

import numpy as np

import rectilinear as rl

rng = np.random.default_rng(0)
x = rng.standard_normal((80, 3))
table = Path(tempfile.mkdtemp()) / "table.csv"
rows = [f"{a:.3f},{b:.3f},{c:.3f},{abs(a) + b:.3f}" for a, b, c in x]
table.write_text("\n".join(["length,mass,age,price", *rows]))

data = rl.Dataset.from_file(table, target="price").standardised()
net = rl.Network(inputs=3, widths=(50,))
found = rl.diagnose(rl.Problem(data, net, net.init(scale=1e-3, seed=0)))
found

# %%
# What it does, simulated.

run = rl.simulate(found.problem, np.linspace(0, 40, 81), rtol=1e-4)
figure = rl.plots.loss_curves(run)
