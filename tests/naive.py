"""Slow, obvious twins: one sample, one neuron, one number at a time, in plain Python, sharing no code with the package."""

from __future__ import annotations

import math

import numpy as np


def activation(z, alpha):
    return z if z > 0 else alpha * z


def slope(z, alpha, layers):
    if z == 0:
        return (1 + alpha) / 2 if layers == 2 else alpha
    return 1.0 if z > 0 else alpha


def loss_value(name, y, f):
    if name == "square":
        return (y - f) ** 2 / 2
    return math.log(1 + math.exp(-y * f)) if name == "logistic" else math.exp(-y * f)


def loss_derivative(name, y, f):
    """dl/df."""
    if name == "square":
        return f - y
    return -y / (1 + math.exp(y * f)) if name == "logistic" else -y * math.exp(-y * f)


def preactivations(weights, seen, alpha):
    """h_1, ..., h_L of one sample, as lists of numbers; `seen` is the sample with its constant input, if any."""
    signal, hidden = [float(v) for v in seen], []
    for layer in weights:
        hidden.append([sum(float(layer[i][j]) * signal[j] for j in range(len(signal))) for i in range(len(layer))])
        signal = [activation(z, alpha) for z in hidden[-1]]
    return hidden


def outputs(problem, weights):
    return np.array([preactivations(weights, row, problem.network.alpha)[-1][0] for row in _seen(problem)])


def objective(problem, weights):
    """<l(y, f)> + (l2/2) sum of |W|^2 over the trainable layers."""
    pairs = zip(problem.y, outputs(problem, weights), strict=True)
    mean = sum(loss_value(problem.loss.name, float(y), float(f)) for y, f in pairs) / len(problem.y)
    squares = [float(v) ** 2 for w, moves in _layers(problem, weights) if moves for v in np.ravel(w)]
    return mean + problem.l2 / 2 * sum(squares)


def gradient(problem, weights):
    """Gradient of `objective`, zero for fixed layers: sample by sample, weight by weight."""
    alpha, layers = problem.network.alpha, len(weights)
    total = [np.zeros(np.shape(w)) for w in weights]
    for seen, y in zip(_seen(problem), problem.y, strict=True):
        hidden = preactivations(weights, seen, alpha)
        below = [[float(v) for v in seen], *([activation(z, alpha) for z in h] for h in hidden[:-1])]
        signal = [loss_derivative(problem.loss.name, float(y), hidden[-1][0]) / len(problem.y)]  # dL/dh of the layer
        for k in reversed(range(layers)):
            for i, sent in enumerate(signal):
                for j, value in enumerate(below[k]):
                    total[k][i, j] += sent * value
            if k:
                signal = [
                    sum(signal[i] * float(weights[k][i][j]) for i in range(len(signal))) * slope(z, alpha, layers)
                    for j, z in enumerate(hidden[k - 1])
                ]
    return tuple(
        g + problem.l2 * np.asarray(w) if moves else np.zeros_like(g)
        for g, (w, moves) in zip(total, _layers(problem, weights), strict=True)
    )


def _seen(problem):
    return [[*row, 1.0] if problem.network.bias else list(row) for row in problem.data.x]


def _layers(problem, weights):
    return list(zip(weights, problem.network.trainable, strict=True))


def frozen_velocity(theta, group, seen, y, loss, l2, train):
    """d theta/dt of neurons (neurons, inputs + 1) whose patterns are frozen: neuron e sees the samples as `seen[group[e]]`.

    Written for complex weights too, so that a complex step gives derivatives without cancellation.
    """
    samples, d = len(y), theta.shape[1] - 1
    out = np.zeros_like(theta)
    for i in range(samples):
        f = sum(theta[e, d] * theta[e, j] * seen[group[e], i, j] for e in range(len(theta)) for j in range(d))
        pull = (
            y[i] - f
            if loss == "square"
            else y[i] / (1 + np.exp(y[i] * f))
            if loss == "logistic"
            else y[i] * np.exp(-y[i] * f)
        )
        for e in range(len(theta)):
            for j in range(d):
                out[e, j] += theta[e, d] * pull / samples * seen[group[e], i, j]
                out[e, d] += theta[e, j] * pull / samples * seen[group[e], i, j]
    out -= l2 * theta
    out[:, :d] *= train[0]
    out[:, d] *= train[1]
    return out


def rescaled_velocity(theta, group, seen, y, live, loss, train):
    """d theta/ds = -grad ln L, L the loss of the live samples, of the same neurons."""
    d = theta.shape[1] - 1
    total, out = 0.0, np.zeros_like(theta)
    for i in np.flatnonzero(live):
        margin = y[i] * sum(theta[e, d] * theta[e, j] * seen[group[e], i, j] for e in range(len(theta)) for j in range(d))
        total += np.log(1 + np.exp(-margin)) if loss == "logistic" else np.exp(-margin)
        pull = y[i] / (1 + np.exp(margin)) if loss == "logistic" else y[i] * np.exp(-margin)
        for e in range(len(theta)):
            for j in range(d):
                out[e, j] += theta[e, d] * pull * seen[group[e], i, j] * train[0]
                out[e, d] += theta[e, j] * pull * seen[group[e], i, j] * train[1]
    return out / total


def jacobian(velocity, theta, *arguments):
    """d(velocity)/d theta, (size, size), by complex steps."""
    columns = []
    for k in range(theta.size):
        moved = theta.astype(complex).ravel()
        moved[k] += 1e-30j
        columns.append(velocity(moved.reshape(theta.shape), *arguments).imag.ravel() / 1e-30)
    return np.array(columns).T
