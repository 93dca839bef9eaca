"""How long six points keep a network at a linear fit, in units of 1/delta: in the run, and by perturbation theory."""

import numpy as np

import rectilinear as rl
from rectilinear.theorems.perturbed_symmetry import plateau

GONE = 0.02  # share of the plateau's height by which the loss must fall for the plateau to end


def scaled_end(run):
    """delta times the end of the plateau; infinite where it never ends."""
    return _delta(run) * rl.measures.time_to_loss(run, (1.0 - GONE) * rl.measures.linear_fit_loss(run.problem.data))


def scaled_theory(run):
    """The same by perturbation theory; nan where it does not tell."""
    return _delta(run) * plateau(run.problem, GONE).ends


def _delta(run):
    return np.abs(run.problem.x.sum(axis=0)).max()  # what mirror images leave of the sum of all samples
