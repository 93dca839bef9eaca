"""Curves over a step as polynomials of degree s in the basis P_k(2 tau - 1), tau in [0, 1].

Curves are *projected* on the basis, not interpolated: what a projection leaves out is orthogonal to every polynomial of degree s, so
that something which follows the curve smoothly hardly feels it, kinks of the curve included.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.polynomial import legendre, polynomial

from ...arrays import Array

MORE_NODES = 3  # nodes of projections beyond the degree
MOST_POINTS = 12


class LegendreCurves:
    """Polynomials of degree s on [0, 1]; coefficients are (..., s + 1).

    >>> curves = LegendreCurves(2)
    >>> curves.project(curves.nodes**2).round(4).tolist()
    [0.3333, 0.5, 0.1667]
    """

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.norms = 2.0 * np.arange(degree + 1) + 1.0  # one over the integral of P_k^2
        self.monomials = np.zeros((degree + 1, degree + 1))  # (k, powers of tau)
        for k in range(degree + 1):
            self.monomials[k, : k + 1] = (
                np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial).coef
            )
        nodes, weights = legendre.leggauss(degree + MORE_NODES)
        self.nodes, self.weights = 0.5 * (nodes + 1.0), 0.5 * weights
        self.at_nodes = self.at(self.nodes)
        # the integral of P_k from 0: its coefficients (k, coefficients), the last one such that its end is met
        self.damped_integration = self.project(self.integrals(self.nodes))
        self.damped_integration[:, -1] = np.eye(degree + 1)[0] - self.damped_integration[:, :-1].sum(axis=1)

    def at(self, tau: Array) -> Array:
        """P_k(2 tau - 1), (k, tau)."""
        x = 2.0 * np.asarray(tau) - 1.0
        out = np.ones((self.degree + 1, *x.shape))
        out[1] = x
        for k in range(1, self.degree):  # NumPy's own takes ten times as long for a few
            out[k + 1] = ((2 * k + 1) * x * out[k] - k * out[k - 1]) / (k + 1)
        return out

    def integrals(self, tau: Array) -> Array:
        """The integral of P_k from 0 to tau, (k, tau)."""
        return np.array([polynomial.polyval(tau, polynomial.polyint(c)) for c in self.monomials])

    def project(self, values: Array) -> Array:
        """Coefficients (..., k) of curves given at the nodes (..., nodes)."""
        return np.asarray((values * self.weights) @ self.at_nodes.T * self.norms)

    def size(self, coefficients: Array) -> Array:
        """Root mean square over tau of curves (..., k)."""
        return np.asarray(np.sqrt((coefficients**2 / self.norms).sum(axis=-1)))

    def products(self, first: Array, second: Array, tau: Array) -> Array:
        """Sum over i of the integrals from 0 to each tau of first_i' second_i, for curves (i, k) -> (tau,)."""
        slopes = first @ self.monomials @ np.diag(np.arange(1.0, self.degree + 1), -1)  # of the monomials' derivatives
        summed = slopes.T @ (second @ self.monomials)  # (powers of first', powers of second)
        powers = np.arange(self.degree + 1)[:, None] + np.arange(self.degree + 1) + 1.0
        return np.array([float((summed * t**powers / powers).sum()) for t in np.atleast_1d(tau)])


@cache
def gauss_rules() -> Array:
    """Gauss' nodes [0, m, :m] and weights [1, m, :m] on [0, 1] for m = 1 ... points."""
    rules = np.zeros((2, MOST_POINTS, MOST_POINTS))
    for m in range(1, MOST_POINTS):
        nodes, weights = legendre.leggauss(m)
        rules[0, m, :m], rules[1, m, :m] = 0.5 * (nodes + 1.0), 0.5 * weights
    return rules
