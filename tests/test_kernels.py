"""Compiled kernels against plain loops, over all small sizes; `make test` runs this file with compilation on and off."""

import numpy as np
import pytest

import naive
import rectilinear as rl
from compiled_parts import from_python
from rectilinear.flow import collocation, threads
from rectilinear.flow.field import DeepField, TwoLayerField, aligned_neurons, make_field, two_layer
from rectilinear.flow.field import frozen as frozen_kernels
from rectilinear.flow.field.common_patterns import CommonPatterns
from rectilinear.flow.field.deep_kernels import DEEP_SAMPLES_PER_PASS as DEEP_BLOCK
from rectilinear.flow.field.few_products import FewProducts
from rectilinear.flow.field.frozen import FrozenField
from rectilinear.flow.field.two_layer_kernels import SAMPLES_PER_PASS, padded
from rectilinear.flow.kinks.geometry import Kinks
from rectilinear.flow.state import flatten, layers_of, neurons_of, unflatten
from rectilinear.flow.steppers import stagewise

velocity, linearise, solve = map(from_python, (frozen_kernels.velocity, frozen_kernels.linearise, frozen_kernels.solve))
solve_stagewise = from_python(stagewise.solve_stagewise)
ROUNDING = 1e-13  # of the largest entry: sums of a few hundred terms in another order
LOSSES = ("square", "logistic", "exponential")
ALPHAS = (0.0, 0.3, 1.0)
ARRANGEMENTS = ("apart", "mirrored", "mirrored, even labels", "partly mirrored", "duplicates", "lattice")


def arranged(kind, samples, inputs, rng):
    """Samples (samples, inputs) and labels in {-1, 1}, some of them mirror images or copies of others."""
    x, y = rng.standard_normal((samples, inputs)), rng.choice([-1.0, 1.0], samples)
    half = samples // 2
    if kind.startswith("mirrored"):
        x[half : 2 * half] = -x[:half]
        y[half : 2 * half] = y[:half] if "even" in kind else -y[:half]
    elif kind == "partly mirrored":
        quarter = (samples + 3) // 4
        x[-quarter:] = -x[:quarter]
    elif kind == "duplicates":
        x[half:] = np.resize(np.concatenate([x[:1], -x[:1], x[:1]]), (samples - half, inputs))
    elif kind == "lattice":
        x = rng.integers(-1, 2, (samples, inputs)).astype(float)
        x[~x.any(axis=1)] = 1.0
    return x, y


def made_problem(kind, samples, inputs, widths, loss, alpha, rng, **more):
    """Random weights, on a lattice if the samples are, so that some neurons sit exactly on a sample's hyperplane."""
    x, y = arranged(kind, samples, inputs, rng)
    network = rl.Network(inputs, widths, alpha=alpha, **{k: v for k, v in more.items() if k != "l2"})
    draw = (lambda shape: rng.integers(-1, 2, shape) / 2.0) if kind == "lattice" else rng.standard_normal
    weights = tuple(np.asarray(draw(shape)) for shape in network.shapes)
    return rl.Problem(rl.Dataset(x, y), network, weights, loss, more.get("l2", 0.0))


def assert_field_is_the_naive_one(problem, made=make_field):
    theta = flatten(problem.weights)
    out = np.full(theta.size, np.nan)
    flow = made(problem)
    objective = flow.velocity(theta, out)
    expected = -flatten(naive.gradient(problem, problem.weights))
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(out, expected, rtol=0, atol=ROUNDING * scale)
    assert objective == pytest.approx(naive.objective(problem, problem.weights), rel=ROUNDING)
    without_l2 = rl.Problem(problem.data, problem.network, problem.weights, problem.loss)
    assert flow.losses(theta[None])[0] == pytest.approx(naive.objective(without_l2, problem.weights), rel=ROUNDING)


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("loss", LOSSES)
def test_two_layer_field_of_every_small_size(loss, alpha):
    rng = np.random.default_rng(0)
    sizes = [(n, d, h) for n in range(1, 10) for d in range(1, 7) for h in range(1, 6)]
    for k, (samples, inputs, neurons) in enumerate(sizes):
        kind = ARRANGEMENTS[(k + neurons) % len(ARRANGEMENTS)]
        assert_field_is_the_naive_one(made_problem(kind, samples, inputs, (neurons,), loss, alpha, rng))


@pytest.mark.parametrize("kind", ARRANGEMENTS)
@pytest.mark.parametrize(
    "setting",
    [{"l2": 0.25}, {"bias": True}, {"trainable": (False, True)}, {"trainable": (True, False), "l2": 0.5, "bias": True}],
    ids=["l2", "bias", "first layer fixed", "second layer fixed, l2, bias"],
)
def test_two_layer_field_with_settings(kind, setting):
    rng = np.random.default_rng(1)
    for samples in range(1, 8):
        for inputs in (1, 3, 4):
            for neurons in (1, 2, 3):
                loss, alpha = LOSSES[samples % 3], ALPHAS[neurons - 1]
                assert_field_is_the_naive_one(made_problem(kind, samples, inputs, (neurons,), loss, alpha, rng, **setting))


@pytest.mark.parametrize("kind", ARRANGEMENTS)
@pytest.mark.parametrize(
    "setting", [{}, {"l2": 0.25}, {"bias": True}, {"trainable": (False, True)}, {"trainable": (True, False)}]
)
def test_field_by_a_few_products(kind, setting):
    rng = np.random.default_rng(3)
    for samples in range(1, 8):
        loss, alpha = LOSSES[samples % 3], ALPHAS[samples // 3]
        assert_field_is_the_naive_one(made_problem(kind, samples, 3, (4,), loss, alpha, rng, **setting), FewProducts)


@pytest.mark.parametrize(
    "samples", [SAMPLES_PER_PASS - 1, SAMPLES_PER_PASS, SAMPLES_PER_PASS + 1, SAMPLES_PER_PASS + 2, 2 * SAMPLES_PER_PASS + 1]
)
@pytest.mark.parametrize("kind", ["apart", "partly mirrored"])
def test_two_layer_field_at_the_borders_of_blocks(kind, samples):
    rng = np.random.default_rng(samples)
    assert_field_is_the_naive_one(made_problem(kind, samples, 2, (3,), "logistic", 0.3, rng))


def test_mirrored_samples_at_the_borders_of_blocks():
    for pairs in (SAMPLES_PER_PASS, SAMPLES_PER_PASS + 1):  # folded, a pair takes one place in a block
        rng = np.random.default_rng(pairs)
        assert_field_is_the_naive_one(made_problem("mirrored", 2 * pairs, 1, (1,), "square", 0.0, rng))


@pytest.mark.parametrize("workers", [2, 3, 7])
def test_work_shared_by_threads_gives_the_same_field(monkeypatch, workers):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)
    monkeypatch.setattr(threads, "workers", lambda: workers)
    rng = np.random.default_rng(2)
    for samples in (1, 2, 3, 8, 20):
        assert_field_is_the_naive_one(made_problem("partly mirrored", samples, 3, (3,), "square", 0.0, rng))


def aligned_problem(kind, loss, alpha, spread, rng):
    """Neurons within an angle of +-r, one outlier, and samples near the hyperplane of r, one of them exactly on it."""
    problem = made_problem(kind, 20, 3, (12,), loss, alpha, rng)
    x = problem.x.copy()
    x[0], x[1] = [0.0, 1.0, 2.0], [spread / 2, 1.0, 0.0]
    w = rng.choice([-2.0, 1.0], 12)[:, None] * (np.array([1.0, 0.0, 0.0]) + spread * rng.standard_normal((12, 3)))
    w[3] = [0.1, 1.0, -1.0]
    return rl.Problem(rl.Dataset(x, problem.y), problem.network, (w, problem.weights[1]), loss)


@pytest.fixture
def always_split(monkeypatch):
    """Aligned neurons are looked for in the smallest problems; the list says of every drive whether they were folded."""
    monkeypatch.setattr(aligned_neurons, "WORK", 0)
    monkeypatch.setattr(aligned_neurons, "WORTHWHILE", 0.6)
    drive, folded = TwoLayerField._aligned_drive, []

    def noted(*given):
        found = drive(*given)
        folded.append(found is not None)
        return found

    monkeypatch.setattr(TwoLayerField, "_aligned_drive", noted)
    monkeypatch.setattr(two_layer, "may_align", lambda _: True)
    return folded


@pytest.mark.parametrize("kind", ["apart", "mirrored", "partly mirrored"])
@pytest.mark.parametrize("spread", [0.0, 1e-3, 0.1])
def test_aligned_neurons_are_folded_into_one_line_without_error(always_split, spread, kind):
    for seed, loss in enumerate(LOSSES):
        problem = aligned_problem(kind, loss, ALPHAS[seed % 2], spread, np.random.default_rng(seed))
        split = aligned_neurons.find_split(
            problem.weights[0], problem.weights[1][0], problem.x.T, np.linalg.norm(problem.x, axis=1)
        )
        assert 0 < len(split.others) < 12
        assert_field_is_the_naive_one(problem)
    assert always_split
    assert all(always_split)


@pytest.mark.parametrize(
    ("kind", "alpha", "tried"), [("apart", 0.0, False), ("apart", 1.0, True), ("partly mirrored", 0.0, True)]
)
def test_neurons_on_one_line_are_looked_for_only_where_they_stay_there(kind, alpha, tried):
    problem = aligned_problem(kind, "square", alpha, 0.0, np.random.default_rng(0))
    assert two_layer.may_align(TwoLayerField(problem).folded) == tried


def test_a_split_that_neurons_have_left_is_not_used(always_split):
    before = aligned_problem("apart", "square", 0.0, 1e-3, np.random.default_rng(0))
    flow, out = TwoLayerField(before), np.empty(48)
    flow.velocity(flatten(before.weights), out)
    for w in (before.weights[0] * np.where(np.arange(12) == 5, -1.0, 1.0)[:, None], before.weights[0][:, ::-1] + 0.5):
        after = before.with_weights((w, before.weights[1]))
        flow.velocity(flatten(after.weights), out)
        np.testing.assert_allclose(out, -flatten(naive.gradient(after, after.weights)), rtol=0, atol=1e-12)
    assert always_split == [True, True, False]


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("alpha", ALPHAS)
def test_losses_of_outputs_that_hardly_exist(always_split, loss, alpha):
    """Where the squares of outputs are lost in rounding the loss is linear in them, and must be exact to its last digits."""
    rng = np.random.default_rng(4)
    for kind in ARRANGEMENTS:
        problem = made_problem(kind, 8, 3, (4,), loss, alpha, rng)
        flow = TwoLayerField(problem)
        for scale in (0.0, 1e-9, 3e-5, 1e-4, 1e-2):
            weights = tuple(scale * layer for layer in problem.weights)
            expected = naive.objective(problem, weights)
            assert flow.losses(flatten(weights)[None])[0] == pytest.approx(expected, rel=4e-16)
        assert flow.zero.is_odd == (kind == "mirrored")


@pytest.mark.parametrize("spread", [0.0, 1e-3, 0.1])
def test_kinks_beyond_which_aligned_neurons_are(always_split, spread):
    """Whole patterns at once give what a look at every neuron and line gives."""
    rng = np.random.default_rng(5)
    for kind in ("apart", "mirrored", "duplicates"):
        problem = aligned_problem(kind, "logistic", 0.3, spread, rng)
        kinks = Kinks(problem)
        theta = np.concatenate([problem.weights[0], problem.weights[1].T], axis=1)
        signs = rng.integers(-1, 2, (12, len(kinks))).astype(np.int8)
        split = aligned_neurons.find_split(problem.weights[0], problem.weights[1][0], kinks.normals.T, np.ones(len(kinks)))
        assert split is not None
        heights = theta[:, :-1] @ kinks.normals.T
        clear = np.abs(heights) > 1e-12
        pull, crossed = kinks.look(theta, signs)
        found = np.zeros_like(clear)
        found[crossed[:, 0], crossed[:, 1]] = True
        np.testing.assert_array_equal(found[clear], (heights * signs < 0)[clear])
        f = problem.network.output(problem.weights, problem.x)
        np.testing.assert_allclose(pull, problem.loss.pull(problem.y, f) / 20, rtol=0, atol=1e-15)


def test_the_next_kink_to_catch_a_neuron():
    rng = np.random.default_rng(6)
    caught = 0
    for seed in range(40):
        problem = made_problem("apart", 9, 3, (5,), "square", 0.0, rng)
        kinks = Kinks(problem)
        w, a = problem.weights[0], problem.weights[1][0]
        theta, velocity = np.column_stack([w, a]), rng.standard_normal((5, 3))
        heights = w @ kinks.normals.T
        signs = np.sign(heights).astype(np.int8)
        signs[seed % 5, 2] = 0  # held, so not free to be caught
        pull = rng.standard_normal(9)
        waits = np.full(signs.shape, np.inf)
        for h, line in np.ndindex(signs.shape):
            here = signs[h, line] * (velocity[h] @ kinks.normals[line])
            there = here - a[h] * kinks.jumps(pull)[line]
            if h != seed % 5 and here < 0.0 < there:
                waits[h, line] = -signs[h, line] * heights[h, line] / here
        wait, height, h, line = kinks.next_catch(theta, velocity, signs, pull, 3.0)
        if waits.min() > 3.0:
            assert line == -1
            continue
        caught += 1
        assert (h, line) == np.unravel_index(waits.argmin(), waits.shape)
        assert wait == pytest.approx(waits.min(), rel=1e-12)
        assert height == pytest.approx(abs(heights[h, line]), rel=1e-12)
    assert 5 < caught < 40


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("widths", [(1, 1), (2, 3), (3, 1, 2)])
def test_deep_field_of_small_sizes(widths, loss):
    rng = np.random.default_rng(3)
    for samples in range(1, 8):
        for inputs in (1, 2, 3):
            for alpha in ALPHAS:
                kind = ARRANGEMENTS[(samples + inputs) % len(ARRANGEMENTS)]
                assert_field_is_the_naive_one(made_problem(kind, samples, inputs, widths, loss, alpha, rng))
    for setting in ({"l2": 0.25}, {"bias": True}, {"trainable": (False,) + (True,) * len(widths), "l2": 0.5}):
        assert_field_is_the_naive_one(made_problem("apart", 4, 2, widths, loss, 0.0, rng, **setting))


@pytest.mark.parametrize("samples", [DEEP_BLOCK - 1, DEEP_BLOCK, DEEP_BLOCK + 1, 2 * DEEP_BLOCK + 1])
def test_deep_field_at_the_borders_of_blocks(samples):
    rng = np.random.default_rng(samples)
    assert_field_is_the_naive_one(made_problem("lattice", samples, 2, (3, 2), "logistic", 0.3, rng))


@pytest.mark.parametrize("workers", [2, 3])
def test_deep_work_shared_by_threads_gives_the_same_field(monkeypatch, workers):
    monkeypatch.setattr(threads, "THREAD_WORK", 0)
    monkeypatch.setattr(threads, "workers", lambda: workers)
    rng = np.random.default_rng(2)
    for samples in (1, 2, 5, 20):
        assert_field_is_the_naive_one(made_problem("apart", samples, 3, (3, 4), "square", 0.0, rng))


def test_deep_field_of_two_layers_is_the_two_layer_field():
    rng = np.random.default_rng(4)
    for kind in ARRANGEMENTS[:-1]:  # on kinks, where lattices lie, the slopes of two layers are others
        problem = made_problem(kind, 9, 3, (4,), "logistic", 0.3, rng, l2=0.1)
        assert_field_is_the_naive_one(problem, DeepField)
        assert_field_is_the_naive_one(problem, TwoLayerField)


def test_field_stays_finite_for_huge_margins():
    """Margins of +-1e5: the pull of the logistic loss is 1 or 0 there, and its value is the margin or 0."""
    problem = rl.Problem(
        rl.Dataset([[1.0], [-2.0]], [1.0, 1.0]), rl.Network(1, (2,)), ([[1e3], [1e2]], [[-1e2, 1.0]]), "logistic"
    )
    out = np.empty(4)
    value = make_field(problem).velocity(flatten(problem.weights), out)
    assert value == pytest.approx((1e5 - 1e2 + np.log(2)) / 2)  # f = -1e5 + 1e2 and 0
    np.testing.assert_allclose(out, [-1e2 / 2, 1 / 2, 1e3 / 2, 1e2 / 2])
    flipped = problem.with_weights(([[1e3], [1e2]], [[1e2, 1.0]]))
    assert make_field(flipped).velocity(flatten(flipped.weights), out) == pytest.approx(np.log(2) / 2)
    np.testing.assert_array_equal(out, 0.0)


@pytest.mark.parametrize("width", [8, 24])  # of one pattern fewer neurons than weights of each, or more
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_field_of_common_patterns_is_the_field_where_neurons_have_them(loss, width):
    """Neurons around two directions, which share three patterns; beyond a kink the frozen field goes on smoothly."""
    rng = np.random.default_rng(3)
    x = np.concatenate([half := rng.standard_normal((9, 4)), -half, 2.0 * half[:3]])
    network = rl.Network(inputs=4, widths=(width,), alpha=0.2)
    centre = rng.standard_normal((2, 4))
    w = np.repeat(centre, width // 2, axis=0) * rng.uniform(0.5, 2.0, (width, 1)) * 1e-3 ** rng.uniform(0, 1, (width, 1))
    labels, a = np.sign(rng.standard_normal(len(x))), rng.standard_normal((1, width))
    problem = rl.Problem(rl.Dataset(x, labels), network, (w, a), loss=loss, l2=0.1)
    kinks, theta, neurons = Kinks(problem), flatten(problem.weights), neurons_of(problem.weights)
    signs = np.sign(w @ kinks.normals.T).astype(np.int8)
    patterns, index = np.unique(signs, axis=0, return_inverse=True)
    slopes = kinks.slopes(patterns)
    frozen = CommonPatterns(problem, neurons, index.ravel(), slopes, kinks.normals, kinks.line, kinks.lengths)
    np.testing.assert_allclose(frozen.neurons(frozen.start), neurons, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(frozen.neuron(frozen.start, 5), neurons[5], rtol=1e-12, atol=1e-14)
    velocity, exact = np.empty_like(frozen.start), np.empty_like(theta)
    loss_here, square = frozen.velocity(frozen.start, velocity)
    assert loss_here == pytest.approx(make_field(problem).velocity(theta, exact), rel=1e-13)
    assert square == pytest.approx(exact @ exact, rel=1e-12)
    np.testing.assert_allclose(flatten(layers_of(frozen.neurons(velocity))), exact, rtol=1e-11, atol=1e-13)
    line = int(np.argmin(np.abs(kinks.normals @ centre[0])))
    beyond = np.eye(5)
    beyond[:4, :4] -= 2.0 * np.outer(kinks.normals[line], kinks.normals[line])  # takes all across that kink
    across = w @ beyond[:4, :4]
    f = np.einsum("h,hi,hi->i", a[0], kinks.slopes(signs), across @ x.T)
    g = (kinks.slopes(signs) * problem.loss.pull(problem.y, f)) @ x / len(x)
    frozen.velocity((frozen.start.reshape(-1, 5) @ beyond).ravel(), velocity)
    np.testing.assert_allclose(frozen.neurons(velocity)[:, :-1], a.T * g - 0.1 * across, rtol=1e-11, atol=1e-13)


def test_errors_of_carriers_are_those_of_neurons():
    """A random error of the carriers has the mean square, in their sizes, that it makes in the neurons, relative to theirs."""
    rng = np.random.default_rng(0)
    x = np.concatenate([half := rng.standard_normal((9, 4)), -half])
    network = rl.Network(inputs=4, widths=(30,))
    sizes = 10.0 ** rng.uniform(-8, 0, (30, 1))
    problem = rl.Problem(rl.Dataset(x, x[:, 0]), network, (sizes * rng.standard_normal((30, 4)), sizes.T))
    kinks, neurons = Kinks(problem), neurons_of(problem.weights)
    index = np.arange(30) // 20  # 20 of one pattern, 10 of another
    slopes = rng.integers(0, 2, (2, len(x))).astype(float)
    frozen = CommonPatterns(problem, neurons, index, slopes, kinks.normals, kinks.line, kinks.lengths)
    error = rng.standard_normal(frozen.start.shape)
    per_carrier = np.mean((error / frozen.sizes(frozen.start, frozen.start, room=0)) ** 2)
    per_neuron = np.mean((frozen.neurons(error) / np.linalg.norm(neurons, axis=1, keepdims=True)) ** 2)
    assert per_carrier == pytest.approx(per_neuron, rel=1e-10)
    velocity = np.empty_like(frozen.start)
    for swapped in (index, 1 - index):  # other slopes, and the same neurons together
        assert frozen.follow(swapped, slopes[::-1])
        fresh = CommonPatterns(problem, neurons, swapped, slopes[::-1], kinks.normals, kinks.line, kinks.lengths)
        expected = np.empty_like(velocity)
        assert frozen.velocity(frozen.start, velocity) == pytest.approx(fresh.velocity(fresh.start, expected), rel=1e-12)
        np.testing.assert_allclose(frozen.neurons(velocity), fresh.neurons(expected), rtol=1e-10, atol=1e-20)
    assert not frozen.follow(np.arange(30) // 15, slopes)
    assert not frozen.outgrown(100.0 * neurons * np.where(np.arange(30) == 7, 1.9, 1.0)[:, None])
    assert frozen.outgrown(neurons * np.where(np.arange(30) == 7, 2.4, 1.0)[:, None])
    assert frozen.outgrown(neurons * np.where(np.arange(30) == 7, 0.4, 1.0)[:, None])


def test_flat_weights_and_layers_are_each_other_s_inverse():
    layers = (np.arange(6.0).reshape(3, 2), np.arange(3.0).reshape(1, 3))
    for back, layer in zip(unflatten(flatten(layers), ((3, 2), (1, 3))), layers, strict=True):
        np.testing.assert_array_equal(back, layer)
    many = unflatten(np.arange(18.0).reshape(2, 9), ((3, 2), (1, 3)))
    assert [layer.shape for layer in many] == [(2, 3, 2), (2, 1, 3)]


def test_padding_adds_zeros_only_where_needed():
    array = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(padded(array, 2, 4), [[0, 1, 2, 0], [3, 4, 5, 0]])
    np.testing.assert_array_equal(padded(array, 1, 1), array)


def frozen(rng, samples, d, neurons, groups, loss, alpha=0.3):
    """Neurons of random weights in groups, each seeing the samples through random slopes."""
    y = rng.standard_normal(samples) if loss == "square" else rng.choice([-1.0, 1.0], samples)
    x = rng.standard_normal((samples, d))
    seen = np.where(rng.random((groups, samples)) < 0.5, 1.0, alpha)[:, :, None] * x
    return rng.standard_normal((neurons, d + 1)), np.sort(rng.integers(0, groups, neurons)), seen, y


def frozen_field(group, seen, y, loss, l2, train, live=None, rescaled=False):
    live = np.ones(len(y), dtype=bool) if live is None else live
    return FrozenField(group, seen, y, live, np.array(train), LOSSES.index(loss), l2, rescaled)


def frozen_velocity(theta, field):
    """The velocity, drives, pulls, curvatures, objective and squared speed."""
    out, g = np.full_like(theta, np.nan), np.empty((len(field.seen), theta.shape[1] - 1))
    pull, curvature = np.empty(len(field.y)), np.empty(len(field.y))
    objective, speed = velocity(theta, field, out, g, pull, curvature)
    return out, g, pull, curvature, objective, speed


TRAINED = {"both layers": (1.0, 1.0), "first layer": (1.0, 0.0), "second layer": (0.0, 1.0)}


@pytest.mark.parametrize("train", TRAINED.values(), ids=TRAINED)
@pytest.mark.parametrize("loss", LOSSES)
def test_frozen_velocity_is_the_field_where_patterns_are_those_of_the_weights(loss, train):
    rng = np.random.default_rng(5)
    for samples, inputs, neurons in [(1, 1, 1), (2, 3, 4), (5, 2, 3), (6, 4, 2)]:
        trainable = tuple(t > 0 for t in train)
        problem = made_problem("apart", samples, inputs, (neurons,), loss, 0.3, rng, trainable=trainable, l2=0.2)
        w, a = problem.weights
        seen = np.where(w @ problem.x.T > 0, 1.0, 0.3)[:, :, None] * problem.x
        theta = np.concatenate([w, a.T], axis=1)
        field = frozen_field(np.arange(neurons), seen, problem.y, loss, problem.l2, train)
        out, g, pull, curvature, mean, speed = frozen_velocity(theta, field)
        dw, da = (-layer for layer in naive.gradient(problem, problem.weights))
        np.testing.assert_allclose(out, np.concatenate([dw, da.T], axis=1), rtol=0, atol=ROUNDING * np.abs(out).max())
        f = naive.outputs(problem, problem.weights)
        np.testing.assert_allclose(
            pull, problem.loss.pull(problem.y, f) / samples, rtol=0, atol=ROUNDING * max(1, np.abs(f).max())
        )
        np.testing.assert_allclose(
            curvature, problem.loss.curvature(problem.y, f) / samples, rtol=ROUNDING * max(1, np.abs(f).max())
        )
        np.testing.assert_allclose(g, np.einsum("i,hid->hd", pull, seen), rtol=0, atol=ROUNDING * np.abs(g).max())
        assert mean == pytest.approx(problem.data_loss(problem.weights), rel=ROUNDING)
        assert speed == pytest.approx(np.sum(out**2), rel=ROUNDING)


@pytest.mark.parametrize("loss", LOSSES)
def test_frozen_velocity_of_groups(loss):
    rng = np.random.default_rng(6)
    for samples, d, neurons, groups in [(1, 1, 1, 1), (3, 2, 5, 2), (4, 3, 2, 3)]:
        theta, group, seen, y = frozen(rng, samples, d, neurons, groups, loss)
        out = frozen_velocity(theta, frozen_field(group, seen, y, loss, 0.2, np.ones(2)))[0]
        expected = naive.frozen_velocity(theta, group, seen, y, loss, 0.2, (1.0, 1.0))
        np.testing.assert_allclose(out, expected, rtol=0, atol=ROUNDING * np.abs(expected).max())


@pytest.mark.parametrize("train", TRAINED.values(), ids=TRAINED)
@pytest.mark.parametrize(
    ("loss", "rescaled"), [*((loss, False) for loss in LOSSES), ("logistic", True), ("exponential", True)]
)
def test_newton_s_linear_system_is_solved_as_by_the_dense_jacobian(loss, rescaled, train):
    rng = np.random.default_rng(7)
    for samples, d, neurons, groups in [(1, 1, 1, 1), (2, 1, 3, 2), (5, 2, 4, 3), (3, 3, 6, 2)]:
        theta, group, seen, y = frozen(rng, samples, d, neurons, groups, loss)
        theta *= 0.5
        live = np.arange(samples) != 1
        field = frozen_field(group, seen, y, loss, 0.0, train, live, rescaled)
        _, g, pull, curvature, _, _ = frozen_velocity(theta, field)
        if rescaled:
            jacobian = naive.jacobian(naive.rescaled_velocity, theta, group, seen, y, live, loss, train)
        else:
            jacobian = naive.jacobian(naive.frozen_velocity, theta, group, seen, y, loss, 0.0, train)
        right = rng.standard_normal(theta.shape) + 1j * rng.standard_normal(theta.shape)
        right[:, :d] *= train[0]  # what does not train has no velocity, so Newton never asks for it to move
        right[:, d] *= train[1]
        mus = np.array([2.0 + 0.0j, 0.7 + 1.3j])
        at = linearise(theta, field, mus, g, pull, curvature)
        for q, mu in enumerate(mus):
            out = np.empty_like(right)
            solve(at, field, q, right, out)
            dense = np.linalg.solve(mu * np.eye(theta.size) - jacobian, right.ravel()).reshape(theta.shape)
            np.testing.assert_allclose(out, dense, rtol=0, atol=1e-11 * np.abs(dense).max())


def arrow_matrices(group, g, moves):
    """What the Jacobian is but for how pulls change: d(a g)/da = g and d(g.w)/dw = g of every neuron."""
    size = g.shape[1] + 1
    arrows = np.zeros((len(group) * size, len(group) * size))
    for e, k in enumerate(group):
        arrow = arrows[e * size : (e + 1) * size, e * size : (e + 1) * size]
        arrow[:-1, -1], arrow[-1, :-1] = moves[0] * g[k], moves[1] * g[k]
    return arrows


def output_slopes(theta, group, seen, moves):
    """df/d theta (weights, samples); zero for what does not train."""
    return np.concatenate([
        np.concatenate([moves[0] * a * seen[k], moves[1] * (seen[k] @ w)[:, None]], axis=1).T
        for w, a, k in zip(theta[:, :-1], theta[:, -1], group, strict=True)
    ])  # fmt: skip


@pytest.mark.parametrize("train", TRAINED.values(), ids=TRAINED)
def test_linearising_factorises_woodbury_s_small_matrix(train):
    """I + C K with K = j^T A^{-1} j, j = df/d theta and A = mu - (the arrow matrices of the neurons)."""
    rng = np.random.default_rng(8)
    samples, d, neurons = 4, 2, 3
    theta, group, seen, y = frozen(rng, samples, d, neurons, 2, "square")
    moves, mu = np.array(train), 1.1 + 0.4j
    field = frozen_field(group, seen, y, "square", 0.0, moves)
    _, g, pull, _, _, _ = frozen_velocity(theta, field)
    curvature = rng.uniform(0.5, 1.0, samples)
    arrows, slopes = arrow_matrices(group, g, moves), output_slopes(theta, group, seen, moves)
    kernel = slopes.T @ np.linalg.solve(mu * np.eye(theta.size) - arrows, slopes)
    at = linearise(theta, field, np.array([mu]), g, pull, curvature)
    factors = at.factors[0]
    ours = (np.tril(factors, -1) + np.eye(samples)) @ np.triu(factors)
    for c in reversed(range(samples)):
        ours[[c, at.order[0, c]]] = ours[[at.order[0, c], c]]
    np.testing.assert_allclose(ours, np.eye(samples) + curvature[:, None] * kernel, rtol=0, atol=1e-12)


@pytest.mark.parametrize("train", TRAINED.values(), ids=TRAINED)
@pytest.mark.parametrize("l2", [0.0, 0.3])
def test_stagewise_updates_are_those_of_the_dense_system(train, l2):
    """(A^{-1}/h + l2 - B + j C j^T) update = field - A^{-1}/h stages, j at every stage, B at the step's start."""
    rng = np.random.default_rng(9)
    samples, h, moves, inverse = 3, 0.7, np.array(train), np.linalg.inv(collocation.MATRIX)
    for d, neurons, groups in [(1, 1, 1), (2, 4, 2), (3, 5, 3)]:
        theta, group, seen, y = frozen(rng, samples, d, neurons, groups, "logistic")
        field = frozen_field(group, seen, y, "logistic", l2, moves)
        _, g, pull, curvature, _, _ = frozen_velocity(theta, field)
        at = linearise(theta, field, collocation.EIGENVALUES / h + l2, g, pull, curvature)
        trains = np.append(np.repeat(moves[0], d), moves[1])
        stages, fields = trains * rng.standard_normal((5, *theta.shape)), np.empty((5, *theta.shape))
        curvatures = rng.uniform(0.1, 1.0, (5, samples))
        pulls, ahead = rng.standard_normal((2, 5, samples))
        dense = np.kron(inverse / h, np.eye(theta.size)) + l2 * np.eye(5 * theta.size)
        dense -= np.kron(np.eye(5), arrow_matrices(group, g, moves))
        for s, curved in enumerate(curvatures):
            here = slice(s * theta.size, (s + 1) * theta.size)
            slopes = output_slopes(theta + stages[s], group, seen, moves)
            dense[here, here] += slopes @ (curved[:, None] * slopes.T)
            fields[s] = (slopes @ pulls[s]).reshape(theta.shape) - l2 * trains * (theta + stages[s])
        left = fields - np.tensordot(inverse / h, stages, 1)
        update = np.empty_like(stages)
        solve_stagewise(at, field, h, curvatures, pulls, ahead, stages, update)
        expected = np.linalg.solve(dense, left.ravel()).reshape(stages.shape)
        np.testing.assert_allclose(update, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
        for s, curved in enumerate(curvatures):
            moved = output_slopes(theta + stages[s], group, seen, moves).T @ expected[s].ravel()
            np.testing.assert_allclose(ahead[s], pulls[s] - curved * moved, rtol=0, atol=1e-10 * np.abs(expected).max())


def test_collocation_has_the_nodes_and_weights_of_radau():
    """Five stages, the last at the end of the step; the quadrature is exact up to degree 8, the embedded one up to degree 4."""
    degrees = np.arange(9)
    np.testing.assert_allclose(collocation.WEIGHTS @ collocation.NODES[:, None] ** degrees, 1 / (degrees + 1), rtol=1e-13)
    assert abs(collocation.WEIGHTS @ collocation.NODES**9 - 0.1) > 1e-6
    assert collocation.NODES[-1] == 1.0
    assert abs(collocation.EIGENVALUES[0].imag) == 0.0
    assert (collocation.EIGENVALUES.real > 0).all()
