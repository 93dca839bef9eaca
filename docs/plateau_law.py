"""How long the plateau of six points lasts, in units of 1/delta: in the run, and by perturbation theory."""

import numpy as np

import rectilinear as rl
from rectilinear.theorems.perturbed_symmetry import plateau


def scaled_duration(run):
    """delta times the duration of the plateau; infinite where it never ends."""
    return _delta(run) * rl.measures.plateau_duration(run)


def scaled_theory(run):
    """The same by perturbation theory; nan where it does not tell."""
    return _delta(run) * plateau(run.problem).duration


def _delta(run):
    return np.abs(run.problem.x.sum(axis=0)).max()  # what mirror images leave of the sum of all samples
