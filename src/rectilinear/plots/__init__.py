"""Figures of trajectories, weights and comparisons: one function a figure, one file a function.

Each returns a matplotlib Figure made without pyplot, so it needs no display and leaves no global state. With `ax=` they draw on
axes you bring; `animate` makes a film of a run.

>>> import rectilinear as rl
>>> from rectilinear import plots
>>> net = rl.Network(inputs=2, widths=(3,))
>>> figure = plots.weight_matrices(net.init(scale=1.0, seed=0), sort=True)
>>> figure.savefig("weights.pdf")  # doctest: +SKIP
>>> figure.axes[0].get_title()
'$W_{1}$'
"""

from .animate import animate
from .comparison import comparison
from .kink_events import kink_events
from .long_time import long_time
from .loss_curves import loss_curves
from .neuron_directions import neuron_directions
from .output_field import output_field
from .singular_values import singular_values
from .sweep_overview import sweep_overview
from .weight_matrices import weight_matrices

__all__ = [
    "animate",
    "comparison",
    "kink_events",
    "long_time",
    "loss_curves",
    "neuron_directions",
    "output_field",
    "singular_values",
    "sweep_overview",
    "weight_matrices",
]
