"""Many problems: a grid of settings, runs shared out among processes or a cluster, and a folder that loses nothing."""

from .drive import Tally, sweep, sweep_plan
from .files import read_plan
from .packs import consolidate
from .plan import Plan
from .seek import Found, seek
from .table import failures, load_run, open_sweep, to_pandas

__all__ = [
    "Found",
    "Plan",
    "Tally",
    "consolidate",
    "failures",
    "load_run",
    "open_sweep",
    "read_plan",
    "seek",
    "sweep",
    "sweep_plan",
    "to_pandas",
]
