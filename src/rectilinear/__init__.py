"""Rectilinear: when is a bias-free ReLU network secretly a linear one?

A Problem (data, network, starting weights, loss) is checked against the hypotheses of theorems, predicted by those that
apply, and simulated by the flow; both give Trajectories, which are measured, compared and shown.
"""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

from . import conditions, datasets, measures, plots, report, theorems
from .compare import Comparison, compare
from .conditions import Finding
from .dataset import Dataset
from .diagnose import Diagnosis, diagnose
from .errors import FileError, FlowError, HypothesisError, InputError, RectilinearError
from .events import Events, Kind
from .explore import explore
from .flow import descend, resume, simulate
from .linearity import Estimate, Linearity, linearity
from .long_trajectory import LongTrajectory
from .network import Network, odd_nonlinear_network
from .prediction import Prediction
from .problem import Problem
from .sweep import open_sweep, sweep
from .theorems import predict
from .torch_models import from_torch, to_torch
from .training_watch import TrainingWatch, watch
from .trajectory import Audit, Status, Trajectory, load

__version__ = version("rectilinear")

__all__ = [
    "Audit",
    "Comparison",
    "Dataset",
    "Diagnosis",
    "Estimate",
    "Events",
    "FileError",
    "Finding",
    "FlowError",
    "HypothesisError",
    "InputError",
    "Kind",
    "Linearity",
    "LongTrajectory",
    "Network",
    "Prediction",
    "Problem",
    "RectilinearError",
    "Status",
    "TrainingWatch",
    "Trajectory",
    "compare",
    "conditions",
    "datasets",
    "descend",
    "diagnose",
    "explore",
    "from_torch",
    "linearity",
    "load",
    "measures",
    "odd_nonlinear_network",
    "open_sweep",
    "plots",
    "predict",
    "report",
    "resume",
    "simulate",
    "sweep",
    "theorems",
    "to_torch",
    "watch",
]

_ON_DEMAND = ("reproduce", "studies")  # rooms that a session rarely needs


def __getattr__(name: str) -> Any:
    if name in _ON_DEMAND:
        return import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_ON_DEMAND, "__version__"])
