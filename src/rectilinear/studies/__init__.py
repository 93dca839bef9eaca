"""Studies: what the papers on classification leave open, measured far out in log t, each with a figure and a finding."""

from .collection import MAKERS, run_studies
from .study import Study

__all__ = ["MAKERS", "Study", "run_studies"]
