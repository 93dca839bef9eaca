"""Ordinary data: every neuron followed by itself through whole steps, and the pulls brought into agreement."""

from __future__ import annotations

import numpy as np
from numpy.polynomial import legendre, polynomial
from numpy.typing import NDArray

from ...errors import FlowError
from ...problem import Problem
from ..threads import threads, workers
from ..field.sample_lines import SampleLines
from .neuron_path import EVENT_FIELDS, FOLLOWED, NO_ROOM, End, KnownStep, Rules, Start, follow_neurons

Array = NDArray[np.float64]
Signs = NDArray[np.int8]

CHUNK = 8  # neurons that one call follows


class Legendre:
    """Polynomials of degree s on [0, 1] in the basis P_k(2 tau - 1)."""

    def __init__(self, degree: int) -> None:
        self.degree = degree
        self.norms = 2.0 * np.arange(degree + 1) + 1.0
        shifted = [np.polynomial.Legendre.basis(k, domain=[0, 1]).convert(kind=np.polynomial.Polynomial).coef for k in range(degree + 1)]
        self.monomials = np.array([np.pad(c, (0, degree + 1 - len(c))) for c in shifted])  # (k, powers of tau)
        nodes, weights = legendre.leggauss(degree + 3)
        self.nodes, self.weights = 0.5 * (nodes + 1.0), 0.5 * weights
        self.at_nodes = self.at(self.nodes)
        integrals = np.array([polynomial.polyval(self.nodes, polynomial.polyint(c)) for c in self.monomials])
        self.integration = self.project(integrals).T  # coefficients of a curve -> of its integral from 0

    def at(self, tau: Array) -> Array:
        """P_k(2 tau - 1), (k, tau)."""
        return legendre.legvander(2.0 * np.asarray(tau) - 1.0, self.degree).T

    def project(self, values: Array) -> Array:
        """Coefficients (..., k) of curves given at the nodes (..., nodes)."""
        return (values * self.weights) @ self.at_nodes.T * self.norms


class FollowedNeurons:
    """Engine."""

    def __init__(self, problem: Problem, rtol: float, w: Array, a: Array, times: Array, degree: int | None = None, order: int = 12) -> None:
        self.problem, self.rtol = problem, rtol
        self.lines = SampleLines(problem)
        self.curves = Legendre(degree or (2 if rtol >= 1e-3 else 3 if rtol > 3e-5 else 4 if rtol > 3e-8 else 5))
        width = self.lines.normals.shape[1]
        self.w = np.zeros((len(w), width))
        self.w[:, : self.lines.inputs] = w @ self.lines.basis.T
        self.a = a.copy()
        self.t, self.h = 0.0, 0.0
        self.times = times
        self.order = order
        self.heights = np.empty((len(a), len(self.lines)), dtype=np.float32)
        self.f = self.lines.outputs(self.w, self.a, self.heights)
        self.signs = np.where(self.w @ self.lines.normals.T > 0, 1, -1).astype(np.int8)
        along, against = np.zeros(len(self.lines), dtype=bool), np.zeros(len(self.lines), dtype=bool)
        along[self.lines.index[self.lines.lengths > 0]] = True
        against[self.lines.index[self.lines.lengths < 0]] = True
        self.sided = np.ascontiguousarray(np.stack([against, along], axis=1))
        self.quadrature = np.zeros((2, 12, 12))
        for m in range(1, 12):
            nodes, weights = legendre.leggauss(m)
            self.quadrature[0, m, :m], self.quadrature[1, m, :m] = 0.5 * (nodes + 1), 0.5 * weights
        self.pulls = self.pull(self.f)
        self.before = None
        self.chunks = [np.arange(k, min(k + CHUNK, len(a))) for k in range(0, len(a), CHUNK)]
        self.room = [np.empty((4 * len(self.lines) + 256, EVENT_FIELDS + self.curves.degree + 1)) for _ in self.chunks]
        self.stat = dict(steps=0, rejected=0, sweeps=0, followed=0, pieces=0, products=0.0)
        self.events = np.zeros(6, dtype=int)
        self.verbose = False
        self.gaps = np.full(len(a), 0.1)

    def pull(self, f: Array) -> Array:
        y = self.problem.y if f.ndim == 1 else self.problem.y[:, None]
        return np.asarray(self.problem.loss.pull(y, f))

    def follow(self, todo: NDArray[np.bool_], drives: Array, step: KnownStep, rules: Rules, end: End, happened: list[Array]) -> int:
        start = Start(self.w, self.a, self.signs, self.heights, self.gaps)

        def task(n: int) -> int:
            chunk = self.chunks[n]
            chosen = chunk[todo[chunk]]
            if not len(chosen):
                return FOLLOWED
            while True:
                ends = np.zeros(len(chosen), dtype=np.intp)
                status, pieces = follow_neurons(
                    chosen, start, drives, step, rules, self.quadrature, end, self.room[n], ends,
                )
                if status != NO_ROOM:
                    break
                self.room[n] = np.empty((2 * len(self.room[n]), self.room[n].shape[1]))
            self.pieces[n] = pieces
            for k, h in enumerate(chosen):
                happened[h] = self.room[n][ends[k - 1] if k else 0 : ends[k]].copy()
            return status
        self.pieces = [0] * len(self.chunks)
        if workers() == 1:
            statuses = [task(n) for n in range(len(self.chunks))]
        else:
            statuses = list(threads().map(task, range(len(self.chunks))))
        self.stat["pieces"] += sum(self.pieces)
        return max(statuses)

    def predict(self, h: float) -> Array:
        curves = self.curves
        coefficients = np.zeros((self.lines.samples, curves.degree + 1))
        coefficients[:, 0] = self.pulls
        if self.before is not None:
            old, length = self.before
            keep = min(curves.degree, 2) + 1
            at = curves.at(1.0 + h / length * curves.nodes)[:keep]
            values = old[:, :keep] @ at
            values += (self.pulls - old[:, :keep].sum(axis=1))[:, None]
            coefficients = curves.project(values)
        return coefficients

    def attempt(self, t_end: float) -> bool:
        curves, lines = self.curves, self.lines
        neurons, width, degree = len(self.a), self.w.shape[1], curves.degree
        h = min(self.h, t_end - self.t)
        if self.t + h > t_end * (1 - 1e-12):
            h = t_end - self.t
        inside = self.times[(self.times > self.t) & (self.times <= self.t + h * (1 + 1e-14))]
        saved = np.minimum((inside - self.t) / h, 1.0)
        sizes = np.sqrt((self.w**2).sum(axis=1) + self.a**2) + 1e-300
        coefficients = self.predict(h)
        drives = lines.drives(self.signs, coefficients) * h
        self.stat["products"] += (degree + 1) / 2
        end = End(
            np.empty_like(self.w), np.empty_like(self.a), np.empty_like(self.signs), np.empty((neurons, degree + 1, width)),
            np.empty((neurons, len(saved), width)), np.empty((neurons, len(saved))),
        )
        happened = [np.empty((0, EVENT_FIELDS + degree + 1))] * neurons
        network = self.problem.network
        followed = None
        legendre_norm = 1.0 / np.sqrt(curves.norms)[None, :, None]
        before_change = np.inf
        ok = False
        for sweep in range(12):
            todo = np.ones(neurons, dtype=bool)
            if followed is not None:
                moved = np.sqrt((((drives - followed) * legendre_norm) ** 2).sum(axis=(1, 2)))
                todo = moved > 0.03 * self.rtol
            gather = np.abs(lines.lengths)
            largest = h / lines.samples * float(gather @ np.abs(coefficients).sum(axis=1))
            known = KnownStep(lines.normals, np.ascontiguousarray(lines.jumps(coefficients) @ curves.monomials * h), self.sided, saved)
            rules = Rules(self.order, 0.01 * self.rtol, largest, 3 * self.rtol, *(float(t) for t in network.trainable_layers), self.problem.l2 * h, network.alpha > 0)
            monomial_drives = np.ascontiguousarray(np.einsum("hkd,kj->hjd", drives, curves.monomials))
            status = self.follow(todo, monomial_drives, known, rules, end, happened)
            self.stat["followed"] += int(todo.sum())
            if status != FOLLOWED:
                break
            followed = drives if followed is None else np.where(todo[:, None, None], drives, followed)
            corrections = np.zeros((len(lines), degree + 1))
            rows = np.concatenate(happened)
            if len(rows):
                rows = rows[rows[:, 2] >= 0]
                np.add.at(corrections, rows[:, 2].astype(np.intp), rows[:, 7:8] * rows[:, EVENT_FIELDS:])
            f = lines.outputs_of_moments(end.signs, end.moments, corrections) * curves.norms
            self.stat["products"] += degree + 1
            if self.problem.loss.code == 0:
                new = -f
                new[:, 0] += self.problem.y
            else:
                new = curves.project(self.pull(f @ curves.at_nodes))
            change = new - coefficients
            drive_change = lines.drives(self.signs, change) * h
            per_neuron = np.sqrt(((drive_change * legendre_norm) ** 2).sum(axis=(1, 2)))
            now_change = float(np.sqrt(np.mean(per_neuron**2)))
            coefficients = new
            drives = drives + drive_change
            self.stat["sweeps"] += 1
            rate = now_change / before_change
            if self.verbose:
                print(f"    sweep {sweep} change {now_change:.2e} rate {rate:.2g} followed {todo.sum()}")
            if now_change < 0.1 * self.rtol:
                ok = True
                break
            if sweep > 1 and rate > 0.7:
                break
            before_change = now_change
        if not ok:
            self.stat["rejected"] += 1
            self.h = 0.5 * h
            if self.verbose:
                print(f"  refused h {h:.3g} status {status} sweeps {sweep+1}")
            if self.h < 1e-12 * max(self.t, 1e-9):
                raise FlowError(f"status {status}")
            return False
        heights = np.empty_like(self.heights)
        f_end = lines.outputs(end.w, end.a, heights)
        pulls = self.pull(f_end)
        defect = pulls - coefficients.sum(axis=1)
        drive = lines.drives(end.signs, defect[:, None])[:, 0]
        self.stat["products"] += 1
        sz = np.maximum(sizes, np.sqrt((end.w ** 2).sum(1) + end.a ** 2))
        error = 0.3 * h * np.sqrt(np.mean((end.a ** 2 * (drive**2).sum(1) + (end.w * drive).sum(1) ** 2) / sz**2))
        grow = 0.9 * (self.rtol / max(error, 1e-300)) ** (1 / 3)
        if error > 1.5 * self.rtol:
            self.stat["rejected"] += 1
            self.h = h * max(0.2, min(grow, 0.8))
            return False
        rows = np.concatenate(happened)
        self.events += np.bincount(rows[:, 3].astype(int), minlength=6)
        if self.verbose:
            print(f"t {self.t:.4g} h {h:.3g} sweeps {sweep + 1} rate {rate:.2g} err {error:.1e} events {len(rows)} loss {np.mean(self.problem.loss.value(self.problem.y, f_end)):.6g}")
        self.stat["steps"] += 1
        self.before = (coefficients, h)
        self.result = (inside, end.saved_w, end.saved_a)
        self.w, self.a, self.signs, self.heights, self.pulls, self.f = end.w, end.a, end.signs, heights, pulls, f_end
        self.t += h
        limit = 3.0 if rate < 0.15 else 1.5 if rate < 0.3 else 1.0
        strongest = float(np.linalg.norm(self.lines.drives(self.signs, pulls[:, None])[:, 0], axis=1).max())
        self.h = min(h * max(0.3, min(grow, limit)), 3.0 / max(strongest, 1e-300))
        return True

    def run(self) -> tuple[Array, Array, Array]:
        strongest = float(np.linalg.norm(self.lines.drives(self.signs, self.pulls[:, None])[:, 0], axis=1).max())
        self.h = 0.1 / strongest
        ws, as_ = [self.w[:, : self.lines.inputs] @ self.lines.basis], [self.a]
        while self.t < self.times[-1] * (1 - 1e-14):
            if self.attempt(self.times[-1]):
                inside, w, a = self.result
                for k in range(len(inside)):
                    ws.append(w[:, k, : self.lines.inputs] @ self.lines.basis)
                    as_.append(a[:, k])
        return np.array(ws), np.array(as_)
