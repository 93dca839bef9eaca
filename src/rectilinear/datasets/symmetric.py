"""Data sets of Zhang et al. around Condition 3: even inputs with an odd target, and small sets that bend or break it."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..dataset import Dataset
from .options import require_between, require_switch, require_whole, seeded


def sine_teacher(inputs: int = 20, pairs: int = 1000, white: bool = False, seed: int = 0) -> Dataset:
    """Gaussian x and their mirror images -x, y = w.x + sin(4 w.x) with w_i ~ U[-1/2, 1/2] (Zhang et al., Fig. 1).

    The target is odd and not linear, so no two-layer bias-free network expresses it (Corollary 2). `white` makes
    Sigma = I exactly in the sample, as Corollary 14 asks.

    >>> data = sine_teacher(inputs=3, pairs=5)
    >>> data.samples, sorted(data.promises)
    (10, ['even_inputs', 'odd_target'])
    """
    x, along = _projected_pairs(inputs, pairs, white, seed)
    promises = {"even_inputs", "odd_target"} | _whiteness(white)
    return Dataset(x, _mirrored(along + np.sin(4.0 * along)), "sine_teacher", promises)


def linear_teacher(inputs: int = 20, pairs: int = 1000, white: bool = False, seed: int = 0) -> Dataset:
    """The inputs of `sine_teacher` with its linear part y = w.x as the target (Zhang et al., Fig. 3).

    >>> "linear_target" in linear_teacher(inputs=3, pairs=5).promises
    True
    """
    x, along = _projected_pairs(inputs, pairs, white, seed)
    promises = {"even_inputs", "odd_target", "linear_target", "expressible_target"} | _whiteness(white)
    return Dataset(x, _mirrored(along), "linear_teacher", promises)


def six_points(delta: float = 0.15) -> Dataset:
    """Six points of the plane that miss Condition 3 by `delta` alone, -1 < delta < 1 (Zhang et al., Fig. 2).

    Mirror images have opposite labels. At delta = 0 the last two points are images too: inputs are even and no two-layer
    network fits the target. At any other delta the six points lie on four lines and a two-layer network can fit them.

    >>> six_points().x[-1].tolist()
    [1.0, 0.15]
    """
    require_between("delta", delta, -1.0, 1.0, "-1 and 1, where the sixth point would meet another")
    x = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, 0.0], [1.0, delta]]
    promises = {"odd_target", "even_inputs" if delta == 0 else "expressible_target"}
    return Dataset(x, [1.0, -1.0, 1.0, -1.0, 1.0, -1.0], "six_points", promises)


def xor() -> Dataset:
    """The four corners (+-1, +-1), labelled by the product of their coordinates: even inputs, but an *even* target.

    >>> xor().y.tolist()
    [1.0, 1.0, -1.0, -1.0]
    """
    x = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]]
    return Dataset(x, [1.0, 1.0, -1.0, -1.0], "xor", {"even_inputs", "white_inputs", "expressible_target"})


def _projected_pairs(inputs: int, pairs: int, white: bool, seed: int) -> tuple[Array, Array]:
    """Mirrored Gaussian inputs (2 pairs, inputs), and w.x on the first half of them."""
    require_whole("inputs", inputs, 1)
    require_switch("white", white)
    require_whole("pairs", pairs, inputs if white else 1, "white inputs need a pair per input" if white else "")
    rng = seeded(seed)
    x = rng.standard_normal((pairs, inputs))
    w = rng.uniform(-0.5, 0.5, inputs)
    if white:
        left, _, right = np.linalg.svd(x, full_matrices=False)
        x = np.sqrt(pairs) * left @ right  # the white sample nearest to x
    return _mirrored(x), x @ w


def _mirrored(half: Array) -> Array:
    return np.concatenate([half, -half])


def _whiteness(white: bool) -> set[str]:
    return {"white_inputs"} if white else set()
