"""Problems on which Condition 3 holds exactly, and an independent integration of their gradient flow."""

import numpy as np
from scipy.integrate import solve_ivp

import rectilinear as rl

STRETCH = np.array([2.0, 1.0, 0.5, 0.3])  # input scales of the non-white data: eigenvalues of Sigma from about 0.1 to 4


def symmetric_data(loss="square", white=False, pairs=30, seed=0):
    """Mirrored Gaussian inputs with a nonlinear odd target, or noisy labels that no hyperplane separates."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((pairs, 4))
    if white:
        left, _, right = np.linalg.svd(x, full_matrices=False)
        x = left @ right * np.sqrt(pairs)
    else:
        x = x * STRETCH
    projection = x @ rng.standard_normal(4)
    if loss == "square":
        y = projection + np.sin(4.0 * projection)
    else:
        y = np.where(rng.uniform(size=pairs) < 1.0 / (1.0 + np.exp(-projection)), 1.0, -1.0)
    return rl.Dataset(x, y).symmetrised()


def aligned_problem(loss="square", white=False, alpha=0.0, l2=0.0, scale=1e-2, width=10, seed=3):
    """A problem that satisfies every hypothesis of Theorem 5: Condition 3 and Assumption 4."""
    net = rl.Network(inputs=4, widths=(width,), alpha=alpha)
    return rl.Problem(symmetric_data(loss, white), net, net.init(scale, seed, "rank_one"), loss, l2)


def random_problem(loss="square", white=False, alpha=0.0, l2=0.0, scale=1e-8, width=30, seed=3):
    """A problem on symmetric data from small Gaussian weights."""
    net = rl.Network(inputs=4, widths=(width,), alpha=alpha)
    return rl.Problem(symmetric_data(loss, white), net, net.init(scale, seed), loss, l2)


def integrated(problem, times, rtol=1e-12):
    """Weights of the gradient flow at `times` by SciPy's DOP853 on the NumPy gradient: neither theorem nor flow."""
    shapes = [layer.shape for layer in problem.weights]
    cuts = np.cumsum([layer.size for layer in problem.weights])[:-1]

    def unflat(state):
        return tuple(part.reshape(shape) for part, shape in zip(np.split(state, cuts), shapes, strict=True))

    def velocity(_, state):
        return -np.concatenate([layer.ravel() for layer in problem.gradient(unflat(state))])

    start = np.concatenate([layer.ravel() for layer in problem.weights])
    tiny = 1e-12 * np.abs(start).max()  # the smallest starts need their own absolute tolerance
    path = solve_ivp(velocity, (0.0, times[-1]), start, "DOP853", t_eval=times, rtol=rtol, atol=tiny)
    assert path.success
    states = [unflat(state) for state in path.y.T]
    return tuple(np.array([state[layer] for state in states]) for layer in range(len(shapes)))


def losses_of(problem, weights):
    return np.array([problem.data_loss(tuple(layer[k] for layer in weights)) for k in range(len(weights[0]))])
