"""
How do I make a film of a run?
==============================

``plots.animate`` draws neurons, output and loss with scales that stay, as a GIF, an MP4 where ffmpeg is, or a page. Frames are saved times:
ask for those that should be seen.
"""

import tempfile
from pathlib import Path

import numpy as np

import rectilinear as rl

net = rl.Network(inputs=2, widths=(30,))
problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=1e-2, seed=0))
run = rl.simulate(problem, np.concatenate([np.linspace(0, 30, 16), np.linspace(60, 1200, 24)]))
film = Path(tempfile.mkdtemp()) / "run.gif"
moving = rl.plots.animate(run, frames=40, seconds=6.0, log_loss=True)
saved = moving.save(film)
