"""Rectilinear: when is a bias-free ReLU network secretly a linear one?

A Problem (data, network, starting weights, loss) is checked against the hypotheses of theorems, predicted by those that
apply, and simulated by the flow; both give Trajectories, which are measured, compared and shown.
"""

from __future__ import annotations

from importlib.metadata import version

from . import datasets
from .dataset import Dataset
from .errors import FileError, FlowError, HypothesisError, InputError, RectilinearError
from .flow import descend, simulate
from .network import Network, odd_nonlinear_network
from .problem import Problem
from .trajectory import Audit, Status, Trajectory, load

__version__ = version("rectilinear")

__all__ = [
    "Audit",
    "Dataset",
    "FileError",
    "FlowError",
    "HypothesisError",
    "InputError",
    "Network",
    "Problem",
    "RectilinearError",
    "Status",
    "Trajectory",
    "datasets",
    "descend",
    "load",
    "odd_nonlinear_network",
    "simulate",
]
