"""
How does it depend on ...? Sweeps
=================================

A grid of settings, a measure, one call. With a ``folder`` every run is kept, and the call goes on where it was interrupted.
"""

import rectilinear as rl

table = rl.sweep(
    {"data": "six_points", "width": 100, "scale": 1e-3},
    grid={"delta": [0.15, 0.2, 0.25, 0.3], "seed": range(3)},
    measure="plateau_duration",
    run={"until": 1500.0, "points": 301},
    jobs=0,
)
table["plateau_duration"].median("seed").values.round(0)

# %%
# The median over seeds, and their spread: the smaller the shift, the longer the plateau. One of the three starts has no neuron that can
# leave it, so its duration is infinite.

figure = rl.plots.sweep_overview(table)
