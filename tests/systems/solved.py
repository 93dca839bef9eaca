"""Training runs with closed forms: problems whose outputs are known at every time.

Each `System` is a problem with its exact outputs f (samples,) as a function of time; THEORY names are those of the papers.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import expi

import rectilinear as rl


@dataclass(frozen=True)
class System:
    """A problem with known outputs up to the time `end`."""

    problem: rl.Problem
    outputs: Callable[[float], np.ndarray]
    end: float

    def loss(self, t):
        return float(np.mean(self.problem.loss.value(self.problem.y, self.outputs(t))))


def logistic_growth(start, limit, rate, t):
    """m(t) with m' = rate m (1 - m/limit)."""
    return limit / (1.0 + (limit / start - 1.0) * np.exp(-rate * t))


def margin(equation, start, moved):
    """m > start with equation(m) = equation(start) + moved, for a rising equation."""
    if moved == 0.0:
        return start
    high = start + 1.0
    while equation(high) < equation(start) + moved:
        high *= 2.0
    return brentq(lambda m: equation(m) - equation(start) - moved, start, high, xtol=1e-15, rtol=1e-15)


def white(inputs):
    """+-sqrt(d) e_i: Sigma = I exactly, and x, -x occur together."""
    return np.concatenate([np.eye(inputs), -np.eye(inputs)]) * np.sqrt(inputs)


def rank_one(direction, sizes):
    """Weights of Assumption 4: W_1 = W_2^T r^T."""
    return np.outer(sizes, direction), np.array([sizes])


def aligned_growth(alpha, half=0.05, end=12.0):
    """White data, r = beta/s: f = w.x with w = s/(1 + (s/U - 1) e^{-2 s c t}) (Corollary 14)."""
    beta = np.array([0.6, -0.8, 0.3])
    x, c, s = white(3), (1 + alpha) / 2, np.linalg.norm(beta)
    problem = rl.Problem(rl.Dataset(x, x @ beta), rl.Network(3, (2,), alpha=alpha), rank_one(beta / s, [half, -half]))
    start = c * 2 * half**2
    return System(problem, lambda t: logistic_growth(start, s, 2 * s * c, t) * (x @ beta) / s, end)


def misaligned_growth(alpha, l2=0.0):
    """White data, any r, with or without weight decay: Eq. 38 with U = c |W_1(0)|^2, and its extension by lambda/c."""
    beta, r, half = np.array([0.6, -0.8]), np.array([np.cos(2.0), np.sin(2.0)]), 0.1
    x, c, s, mu = white(2), (1 + alpha) / 2, 1.0, 2 * l2 / (1 + alpha)
    problem = rl.Problem(rl.Dataset(x, x @ beta), rl.Network(2, (2,), alpha=alpha), rank_one(r, [half, -half]), l2=l2)
    rho = r @ beta / s
    q1, q2, start = 1 - rho, 1 + rho, c * 2 * half**2

    def phi(m, t):
        return 2 * t if m == 0 else np.expm1(2 * m * t) / m

    def outputs(t):
        t = c * t
        up, down, flat = np.exp((s - mu) * t), np.exp((-s - mu) * t), np.exp(-mu * t)
        top = (q2 * up + q1 * down) / 2 * (beta / s * (q2 * up - q1 * down) / 2 + flat * (r - rho * beta / s))
        bottom = 1 / start + q2**2 * phi(s - mu, t) / 4 + q1**2 * phi(-s - mu, t) / 4 + (1 - rho**2) * phi(-mu, t) / 2
        return x @ (top / bottom)

    return System(problem, outputs, 10.0)


def one_sample_unbalanced():
    """One neuron, one sample: with u = p + a, p = w.x/|x|, the flow of u^2 is a Riccati equation; w off the sample rests."""
    length, y = 2.0, 1.5
    p, a, rest = 0.2, 0.7, 0.3
    problem = rl.Problem(rl.Dataset([[length, 0.0]], [y]), rl.Network(2, (1,)), ([[p, rest]], [[a]]))
    k, start = p**2 - a**2, (p + a) ** 2
    middle, radius = 2 * y / length, np.sqrt(4 * y**2 / length**2 + k**2)
    ratio = (start - middle - radius) / (start - middle + radius)

    def outputs(t):
        part = ratio * np.exp(-(length**2) * radius * t)
        square = middle + radius * (1 + part) / (1 - part)
        return np.array([length * (square - k**2 / square) / 4])

    return System(problem, outputs, 4.0)


def one_sample_classified(loss):
    """One balanced neuron along one sample: Ei(m) = const + 2|x|t (exponential), ln m + Ei(m) = const + 2|x|t (logistic)."""
    length, size = 1.5, 0.2
    problem = rl.Problem(rl.Dataset([[0.0, length]], [-1.0]), rl.Network(2, (1,)), ([[0.0, size]], [[-size]]), loss)
    equation = expi if loss == "exponential" else (lambda m: np.log(m) + expi(m))
    return System(problem, lambda t: np.array([-margin(equation, length * size**2, 2 * length * t)]), 30.0)


def xor_on_the_rays(loss="square", alpha=0.0, l2=0.0, fixed=False, scale=1.0, end=15.0):
    """Every neuron slides on the ray of one point with the sign of its label; the four margins obey one equation each.

    With k = (1 - alpha)|x|/P and m = (1 - alpha)|x| c^2: m' = 2 m (k (pull of the margin) - l2); with a fixed second layer a,
    m' = (1 - alpha) a^2 |x| k (pull of the margin). Leaky networks need equal groups: a ray's neurons also answer at its mirror image.
    """
    data, length = rl.datasets.xor(), np.sqrt(2.0)
    sizes = scale * (np.full(4, 0.3) if alpha else np.array([0.1, 0.2, 0.3, 0.4]))
    second = np.full(4, 0.5) if fixed else sizes
    weights = (sizes[:, None] * data.x / length, (second * data.y)[None, :])
    network = rl.Network(2, (4,), alpha=alpha, trainable=(True, not fixed))
    start, k = (1 - alpha) * length * sizes * second, (1 - alpha) * length / 4

    def margins(t):
        if fixed and loss == "square":
            return 1 - (1 - start) * np.exp(-(1 - alpha) * 0.25 * length * k * t)
        if fixed:
            return np.array([margin(lambda m: m + np.exp(m), m, (1 - alpha) * 0.25 * length * k * t) for m in start])
        if loss == "square":
            rate = 2 * (k - l2)
            return logistic_growth(start, 1 - l2 / k, rate, t)
        equation = (lambda m: np.log(m) + expi(m)) if loss == "logistic" else expi
        return np.array([margin(equation, m, 2 * k * t) for m in start])

    problem = rl.Problem(data, network, weights, loss, l2)
    return System(problem, lambda t: data.y * margins(t), end)


def orthogonal_classes(loss="square"):
    """Orthogonal inputs of equal norm, a neuron per class along its mean: the classes decouple (one linear network each).

    With n_c points in a class, m' = 2 (|x| sqrt(n_c)/P) m (pull of the margin m). Each neuron also points slightly away from
    the other class, so that it starts off those kinks; that part rests.
    """
    length, size, away = 1.2, 0.15, 0.05
    y = np.array([1.0, 1.0, -1.0, -1.0, -1.0])
    members = np.array([y > 0, y < 0], dtype=float)
    roots = np.sqrt(members.sum(axis=1))
    weights = (size * members / roots[:, None] - away * members[::-1], size * np.array([[1.0, -1.0]]))
    start, k = size**2 * length / roots, length * roots / len(y)

    def outputs(t):
        if loss == "square":
            margins = logistic_growth(start, 1.0, 2 * k, t)
        else:
            margins = [margin(lambda m: np.log(m) + expi(m), m, 2 * rate * t) for m, rate in zip(start, k, strict=True)]
        return y * (margins @ members)

    return System(rl.Problem(rl.Dataset(length * np.eye(5), y), rl.Network(5, (2,)), weights, loss), outputs, 12.0)


def orthogonal_fixed_second_layer():
    """Kou et al.: orthogonal inputs, second layer fixed at +-1/m: m + e^m = const + K t, K = n_active |x|^2/(m^2 P)."""
    length, y = 2.0, np.array([1.0, -1.0, 1.0])
    second = np.array([[0.5, 0.5, -0.5, -0.5]])
    active = np.array([[1, 0, 1], [1, 0, 0], [0, 1, 0], [0, 1, 0]], dtype=float)  # each neuron only in its own class
    first = np.where(active > 0, 0.3, -0.2)
    start = length * 0.3 * 0.5 * active.sum(axis=0)
    rates = active.sum(axis=0) * 0.25 * length**2 / 3
    network = rl.Network(3, (4,), trainable=(True, False))

    def outputs(t):
        return y * [margin(lambda m: m + np.exp(m), m, k * t) for m, k in zip(start, rates, strict=True)]

    return System(rl.Problem(rl.Dataset(length * np.eye(3), y), network, (first, second), "logistic"), outputs, 20.0)


def early_growth(inputs=3, width=6):
    """Even data, weights of size 1e-12: every neuron has g = c beta, so that the output grows as cosh and sinh of c s t (Eq. 23)."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((5, inputs))
    x = np.concatenate([half, -half])
    y = np.concatenate([half, -half]) @ rng.standard_normal(inputs) + np.concatenate(
        [np.sin(3 * half[:, 0]), np.sin(-3 * half[:, 0])]
    )
    problem = rl.Problem(rl.Dataset(x, y), (network := rl.Network(inputs, (width,), alpha=0.4)), network.init(1e-12, seed=1))
    first, second = problem.weights
    beta = problem.data.correlation
    s, e = np.linalg.norm(beta), beta / np.linalg.norm(beta)

    def outputs(t):
        grown = 0.7 * s * t
        along, a = first @ e, second[0]
        w = first + np.outer(along * (np.cosh(grown) - 1) + a * np.sinh(grown), e)
        return network.output((w, (a * np.cosh(grown) + along * np.sinh(grown))[None, :]), x)

    return System(problem, outputs, 8.0)


SYSTEMS = {
    "aligned growth, linear": aligned_growth(1.0),
    "aligned growth, ReLU": aligned_growth(0.0),
    "misaligned growth, leaky": misaligned_growth(0.3),
    "misaligned growth, ReLU, weight decay": misaligned_growth(0.0, l2=0.1),
    "one sample, unbalanced": one_sample_unbalanced(),
    "one sample, logistic": one_sample_classified("logistic"),
    "one sample, exponential": one_sample_classified("exponential"),
    "aligned growth, tiny start": aligned_growth(0.0, half=1e-8, end=45.0),
    "xor, tiny start": xor_on_the_rays(scale=1e-8, end=75.0),
    "xor, square": xor_on_the_rays(),
    "xor, logistic": xor_on_the_rays("logistic"),
    "xor, exponential": xor_on_the_rays("exponential"),
    "xor, leaky": xor_on_the_rays(alpha=0.25),
    "xor, weight decay": xor_on_the_rays(l2=0.05),
    "xor, second layer fixed": xor_on_the_rays(fixed=True),
    "xor, second layer fixed, logistic": xor_on_the_rays("logistic", fixed=True),
    "orthogonal classes, square": orthogonal_classes(),
    "orthogonal classes, logistic": orthogonal_classes("logistic"),
    "orthogonal inputs, second layer fixed": orthogonal_fixed_second_layer(),
    "early growth": early_growth(),
}
