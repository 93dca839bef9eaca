"""Figures, by what they drew: curves, matrices, rays, points, labels."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import plots
from rectilinear.compare import compare
from rectilinear.plots import style
from rectilinear.plots.weight_matrices import sorted_neurons
from rectilinear.prediction import Prediction

SIX = rl.datasets.six_points()


def descent(alpha=0.0, widths=(8,), steps=40):
    net = rl.Network(inputs=2, widths=widths, alpha=alpha)
    return rl.descend(rl.Problem(SIX, net, net.init(scale=0.3, seed=0)), learning_rate=0.05, steps=steps, record_every=5)


@pytest.fixture(scope="module")
def relu():
    return descent()


@pytest.fixture(scope="module")
def leaky():
    return descent(alpha=0.5)


@pytest.fixture(scope="module")
def deep():
    return descent(widths=(5, 4))


def rendered(figure):
    """Everything is inside the figure once it is drawn: no clipped labels."""
    figure.draw_without_rendering()
    for ax in figure.axes:
        box, page = ax.get_tightbbox(), figure.bbox
        assert box.x0 >= page.x0 - 1, "clipped on the left"
        assert box.y0 >= page.y0 - 1, "clipped below"
        assert box.x1 <= page.x1 + 1, "clipped on the right"
        assert box.y1 <= page.y1 + 1, "clipped above"
    return figure


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# loss curves


def test_loss_curves_draw_runs_solid_and_predictions_dashed_in_black(relu, leaky):
    (ax,) = rendered(plots.loss_curves([relu, leaky], labels=["ReLU", "leaky"], predictions=leaky)).axes
    first, second, prediction = ax.get_lines()
    np.testing.assert_array_equal(first.get_xydata(), np.stack([relu.times, relu.loss], axis=1))
    np.testing.assert_array_equal(second.get_ydata(), leaky.loss)
    np.testing.assert_array_equal(prediction.get_ydata(), leaky.loss)
    assert first.get_linestyle() == second.get_linestyle() == "-"
    assert prediction.get_linestyle() == "--"
    assert prediction.get_color() == "black"
    assert first.get_color() != second.get_color()
    assert legend_texts(ax) == ["ReLU", "leaky", "prediction"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time / τ", "loss")


def test_unnamed_runs_and_predictions_share_one_entry_of_the_legend_each(relu, leaky):
    (ax,) = plots.loss_curves([relu, leaky], predictions=[relu, leaky]).axes
    assert len(ax.get_lines()) == 4
    assert legend_texts(ax) == ["simulation", "prediction"]


def test_a_single_run_needs_no_legend(relu):
    (ax,) = rendered(plots.loss_curves(relu)).axes
    assert ax.get_legend() is None
    assert ax.get_ylim()[0] == 0.0


def test_logarithmic_time_leaves_out_time_zero(relu):
    (ax,) = rendered(plots.loss_curves(relu, log_time=True, log_loss=True)).axes
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    np.testing.assert_array_equal(ax.get_lines()[0].get_xdata(), relu.times[1:])


def test_a_prediction_that_reaches_to_infinity_is_shown_as_far_as_the_axis_goes(relu):
    times = np.array([0.0, 1.0, np.inf])
    prediction = Prediction(relu.problem, times, np.array([0.5, 0.4, 0.0]), ())
    (ax,) = rendered(plots.loss_curves(relu, predictions=prediction)).axes
    np.testing.assert_array_equal(ax.get_lines()[1].get_xdata(), times[:2])


def test_time_can_be_rescaled_for_each_run(relu, leaky):
    figure = plots.loss_curves([relu, leaky], predictions=leaky, rescale=lambda run: (1 + run.problem.network.alpha) / 2)
    first, second, prediction = figure.axes[0].get_lines()
    np.testing.assert_allclose(first.get_xdata(), 0.5 * relu.times)
    np.testing.assert_allclose(second.get_xdata(), 0.75 * leaky.times)
    np.testing.assert_allclose(prediction.get_xdata(), 0.75 * leaky.times)
    assert figure.axes[0].get_xlabel() == "rescaled time / τ"


def test_loss_curves_refuse_nothing_and_misnamed_runs(relu):
    with pytest.raises(rl.InputError, match="needs at least one run, found none"):
        plots.loss_curves([])
    with pytest.raises(rl.InputError, match="labels must name each of the 1 runs, found 2"):
        plots.loss_curves(relu, labels=["a", "b"])


# comparison


def test_comparison_draws_both_curves_and_the_errors_below(relu):
    prediction = Prediction(relu.problem, relu.times, 1.1 * relu.loss, (), predicted_map=np.ones((len(relu), 2)))
    comparison = compare(prediction, relu)
    curves, errors = rendered(plots.comparison(comparison)).axes
    np.testing.assert_array_equal(curves.get_lines()[0].get_ydata(), relu.loss)
    np.testing.assert_array_equal(curves.get_lines()[1].get_ydata(), prediction.loss)
    np.testing.assert_array_equal(errors.get_lines()[0].get_ydata(), comparison.relative_loss_error)
    np.testing.assert_array_equal(errors.get_lines()[1].get_ydata(), comparison.relative_function_error)
    assert legend_texts(curves) == ["simulation", "prediction"]
    assert legend_texts(errors) == ["loss", "function on the data"]
    assert errors.get_yscale() == "log"
    assert errors.get_xlabel() == "time / τ"


def test_comparison_of_the_loss_alone_up_to_an_early_end(relu):
    longer = np.append(relu.times, relu.times[-1] + 1.0)
    prediction = Prediction(relu.problem, longer, 1.1 * np.append(relu.loss, 0.1), ())
    curves, errors = rendered(plots.comparison(compare(prediction, relu), log_time=True, log_loss=True)).axes
    assert legend_texts(errors) == ["loss"]
    for line in curves.get_lines():
        np.testing.assert_array_equal(line.get_xdata(), relu.times[1:])
    assert curves.get_xscale() == curves.get_yscale() == errors.get_xscale() == "log"


def test_errors_of_zero_are_left_out(relu):
    _, errors = rendered(plots.comparison(compare(relu, relu))).axes
    assert np.isnan(errors.get_lines()[0].get_ydata()).all()


# weight matrices


def test_weight_matrices_draw_every_layer_around_zero(deep):
    figure = rendered(plots.weight_matrices(deep))
    maps = [ax for ax in figure.axes if ax.get_images()]
    assert [ax.get_title() for ax in maps] == ["$W_{1}$", "$W_{2}$", r"$W_{3}^\top$"]
    first, second, third = deep.final
    for ax, layer in zip(maps, (first, second, third.T), strict=True):
        (image,) = ax.get_images()
        np.testing.assert_array_equal(image.get_array(), layer)
        assert image.get_clim() == (-np.abs(layer).max(), np.abs(layer).max())
    assert [ax.get_xlabel() for ax in maps] == ["input", "neuron of layer 1", "output"]
    assert [ax.get_ylabel() for ax in maps] == ["neuron of layer 1", "neuron of layer 2", "neuron of layer 2"]


def test_weight_matrices_at_a_chosen_time(relu):
    image = plots.weight_matrices(relu, at=0).axes[0].get_images()[0]
    np.testing.assert_array_equal(image.get_array(), relu.problem.weights[0])


def test_sorting_orders_two_layers_by_their_output_weight(relu):
    figure = plots.weight_matrices(relu.final, sort=True)
    first, second = (ax.get_images()[0].get_array() for ax in figure.axes[:2])
    assert (np.diff(second[:, 0]) <= 0).all()
    order = np.argsort(-relu.final[1][0])
    np.testing.assert_array_equal(first, relu.final[0][order])


def test_sorting_neurons_keeps_the_function(deep):
    net, x = deep.problem.network, np.random.default_rng(0).standard_normal((20, 2))
    arranged = sorted_neurons(deep.final)
    np.testing.assert_allclose(net.output(arranged, x), net.output(deep.final, x), rtol=1e-12)
    assert (np.diff(arranged[2][0]) <= 0).all()
    assert (np.diff((arranged[2] @ arranged[1])[0]) <= 0).all()
    assert any((one != other).any() for one, other in zip(arranged, deep.final, strict=True))


def test_weight_matrices_of_zero_weights_have_a_scale():
    figure = rendered(plots.weight_matrices([np.zeros((2, 2)), np.zeros((1, 2))]))
    assert figure.axes[0].get_images()[0].get_clim() == (-1.0, 1.0)


@pytest.mark.parametrize("weights", [(), (np.zeros((3, 2, 2)), np.zeros((3, 1, 2)))])
def test_weight_matrices_need_matrices(weights):
    with pytest.raises(rl.InputError, match="needs a matrix for each layer, found"):
        plots.weight_matrices(weights)


# neuron directions


def test_neurons_are_rays_coloured_by_sign_in_units_of_the_longest():
    net = rl.Network(inputs=2, widths=(4,))
    first = np.array([[4.0, 0.0], [0.0, 2.0], [-1.0, 0.0], [1.0, 1.0]])
    (ax,) = rendered(plots.neuron_directions(net, (first, [[1.0, -1.0, 2.0, 0.0]]), SIX)).axes
    drawn = {points.get_label(): points for points in ax.collections}
    positive, negative = drawn["neurons, $a_h > 0$"], drawn["neurons, $a_h < 0$"]
    np.testing.assert_allclose(positive.get_offsets(), [[1.0, 0.0], [-0.25, 0.0]])
    np.testing.assert_allclose(negative.get_offsets(), [[0.0, 0.5]])
    assert not np.array_equal(positive.get_facecolor(), negative.get_facecolor())


def test_data_rays_and_kink_lines_are_drawn():
    net = rl.Network(inputs=2, widths=(2,))
    data = rl.Dataset([[2.0, 0.0], [-1.0, 0.0], [0.0, 3.0]], [1.0, -1.0, 0.0])
    (ax,) = rendered(plots.neuron_directions(net, net.init(1.0, seed=0), data)).axes
    drawn = {artist.get_label(): artist for artist in ax.collections}
    kinks = [np.asarray(segment) for segment in drawn["kinks $w\\cdot x_i = 0$"].get_segments()]
    assert len(kinks) == 2  # two lines hold the three samples
    for segment, normal in zip(kinks, data.lines.normals, strict=True):
        assert (segment[1] - segment[0]) @ normal == pytest.approx(0.0, abs=1e-12)
    up, down, zero = (drawn[f"samples, $y {sign} 0$"].get_offsets() for sign in "><=")
    assert up[0] @ [1.0, 0.0] > 1.0
    assert down[0] @ [-1.0, 0.0] > 1.0
    assert zero[0] @ [0.0, 1.0] > 1.0


def test_absent_signs_leave_no_empty_entries_in_the_legend():
    net = rl.Network(inputs=2, widths=(2,))
    data = rl.Dataset([[1.0, 1.0]], [1.0])
    (ax,) = plots.neuron_directions(net, (np.eye(2), [[1.0, 1.0]]), data).axes
    assert legend_texts(ax) == ["kinks $w\\cdot x_i = 0$", "samples, $y > 0$", "neurons, $a_h > 0$"]


@pytest.mark.parametrize(
    ("network", "found"),
    [
        (rl.Network(inputs=2, widths=(2, 2)), "3 layers"),
        (rl.Network(inputs=2, widths=(2,), bias=True), "2 layers with bias"),
    ],
)
def test_neuron_directions_need_two_layers_without_bias(network, found):
    with pytest.raises(rl.InputError, match=f"needs a two-layer network without bias, found {found}"):
        plots.neuron_directions(network, network.init(1.0, seed=0), SIX)


# output field


@pytest.mark.parametrize("network", [rl.Network(inputs=2, widths=(5, 4)), rl.Network(inputs=2, widths=(5,), bias=True)])
def test_output_field_shows_the_output_over_the_plane(network):
    weights = network.init(scale=1.0, seed=1)
    figure = rendered(plots.output_field(network, weights, SIX))
    ax, bar = figure.axes
    (image,) = ax.get_images()
    left, right, bottom, top = image.get_extent()
    field = image.get_array()
    corners = network.output(weights, [[left, bottom], [right, bottom], [left, top], [0.0, 0.0]])
    middle = field.shape[0] // 2
    np.testing.assert_allclose([field[0, 0], field[0, -1], field[-1, 0], field[middle, middle]], corners, atol=1e-12)
    assert image.get_clim()[0] == -image.get_clim()[1] == -np.abs(field).max()
    assert bar.get_ylabel() == "output $f(x)$"


def test_output_field_draws_the_samples_and_the_decision_boundary():
    net = rl.Network(inputs=2, widths=(2,))
    weights = ([[1.0, 0.0], [-1.0, 0.0]], [[1.0, -1.0]])  # f = x1, so the boundary is the axis x1 = 0
    ax = plots.output_field(net, weights, SIX).axes[0]
    boundary, samples = ax.collections
    for path in boundary.get_paths():
        np.testing.assert_allclose(path.vertices[:, 0], 0.0, atol=1e-12)
    np.testing.assert_array_equal(samples.get_offsets(), SIX.x)
    np.testing.assert_array_equal(samples.get_array(), SIX.y)


def test_a_field_of_one_sign_has_no_boundary():
    net = rl.Network(inputs=2, widths=(1,))
    ax = rendered(plots.output_field(net, ([[0.0, 0.0]], [[1.0]]), SIX)).axes[0]
    assert len(ax.collections) == 1  # the samples


@pytest.mark.parametrize("plot", [plots.neuron_directions, plots.output_field])
def test_the_plane_has_two_inputs(plot):
    net = rl.Network(inputs=3, widths=(2,))
    data = rl.Dataset(np.eye(3), [1.0, 1.0, 1.0])
    with pytest.raises(rl.InputError, match=f"{plot.__name__} draws the plane of two inputs, found 3 inputs"):
        plot(net, net.init(1.0, seed=0), data)


# singular values


def test_singular_values_have_a_panel_for_each_layer(deep):
    figure = rendered(plots.singular_values(deep, largest=3))
    assert [ax.get_title() for ax in figure.axes] == ["$W_{1}$", "$W_{2}$", "$W_{3}$"]
    assert [len(ax.get_lines()) for ax in figure.axes] == [2, 3, 1]
    expected = np.linalg.svd(deep.weights[1], compute_uv=False)
    drawn = sorted((line.get_ydata() for line in figure.axes[1].get_lines()), key=lambda y: -y[-1])
    np.testing.assert_allclose(np.array(drawn), expected.T[:3], rtol=1e-12)
    assert figure.axes[0].get_ylabel() == "singular values"
    assert [text.get_text() for text in figure.axes[-1].get_legend().get_texts()] == ["number 1", "number 2", "number 3"]
    assert {ax.get_xlabel() for ax in figure.axes} == {"time / τ"}


def test_singular_values_on_logarithmic_axes(relu):
    figure = rendered(plots.singular_values(relu, log_time=True, log_values=True))
    assert {(ax.get_xscale(), ax.get_yscale()) for ax in figure.axes} == {("log", "log")}
    np.testing.assert_array_equal(figure.axes[0].get_lines()[0].get_xdata(), relu.times[1:])


def test_singular_values_show_one_at_least(relu):
    with pytest.raises(rl.InputError, match="largest must be a whole number of singular values >= 1, found 0"):
        plots.singular_values(relu, largest=0)


# what all figures share


def test_the_users_matplotlib_settings_stay_as_they_are(relu):
    import matplotlib

    before = dict(matplotlib.rcParams)
    plots.loss_curves(relu)
    assert dict(matplotlib.rcParams) == before


def test_figures_keep_their_sizes_when_they_are_drawn_later(relu):
    import matplotlib

    (ax,) = plots.loss_curves(relu).axes
    with matplotlib.rc_context({"xtick.labelsize": 30, "font.size": 30}):
        ax.figure.draw_without_rendering()
        assert {label.get_fontsize() for label in ax.get_xticklabels()} == {style.TICK_SIZE}


def test_plots_need_no_pyplot_and_no_display():
    program = (
        "import io, sys, rectilinear as rl\n"
        "from rectilinear import plots\n"
        "assert 'matplotlib' not in sys.modules, 'matplotlib is loaded before any figure is drawn'\n"
        "net = rl.Network(inputs=2, widths=(3,))\n"
        "plots.output_field(net, net.init(1.0, seed=0), rl.datasets.six_points()).savefig(io.BytesIO())\n"
        "assert 'matplotlib.pyplot' not in sys.modules, 'a figure needs pyplot'\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_more_curves_than_colours_start_the_palette_again():
    assert style.colour(len(style.PALETTE)) == style.colour(0)
    assert len(set(style.PALETTE)) == len(style.PALETTE)


def test_notebooks_show_figures_and_cards_without_magic():
    net = rl.Network(2, (4,))
    run = rl.descend(rl.Problem(rl.datasets.six_points(), net), 0.1, 3)
    assert plots.loss_curves(run)._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(rl.InputError, match=r"a window needs pyplot, and this figure has none; save it by figure\.savefig"):
        plots.loss_curves(run).show()
    assert run._repr_html_().startswith("<pre>Trajectory\n")
    assert run.to_pandas()["loss"].tolist() == run.loss.tolist()


def test_show_shows_in_a_notebook(monkeypatch):
    ipython, shown = pytest.importorskip("IPython"), []
    monkeypatch.setattr(ipython, "get_ipython", object)
    monkeypatch.setattr(ipython.display, "display", shown.append)
    net = rl.Network(2, (4,))
    figure = plots.loss_curves(rl.descend(rl.Problem(rl.datasets.six_points(), net), 0.1, 3))
    figure.show()
    assert shown == [figure]


# axes that the user brings


def own_axes(count):
    from matplotlib.figure import Figure

    figure = Figure()
    return figure, list(np.ravel(figure.subplots(1, count)))


def mirrored_events(relu):
    net = rl.Network(inputs=2, widths=(4,))
    return rl.simulate(rl.Problem(rl.datasets.six_points(delta=0.15), net, net.init(0.1, seed=0)), times=[0.0, 5.0])


def far(relu):
    data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(inputs=2, widths=(4,))
    return rl.simulate(rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[1, 10])


def test_a_single_far_time_is_seen_in_both_panels():
    data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(inputs=2, widths=(4,))
    run = rl.simulate(rl.Problem(data, net, net.init(1e-3, seed=0), loss="logistic"), log10_times=[10])
    for panel in plots.long_time(run).axes:
        assert panel.lines
        assert all(line.get_marker() == "o" for line in panel.lines)


DRAWN_ON = {
    "loss_curves": (1, lambda run, ax: plots.loss_curves(run, labels=["a"], ax=ax)),
    "neuron_directions": (1, lambda run, ax: plots.neuron_directions(run.problem.network, run.final, SIX, ax=ax)),
    "output_field": (1, lambda run, ax: plots.output_field(run.problem.network, run.final, SIX, ax=ax)),
    "comparison": (2, lambda run, ax: plots.comparison(compare(run, run), ax=ax)),
    "singular_values": (2, lambda run, ax: plots.singular_values(run, ax=ax)),
    "weight_matrices": (2, lambda run, ax: plots.weight_matrices(run, ax=ax)),
    "kink_events": (2, lambda run, ax: plots.kink_events(mirrored_events(run), ax=ax)),
    "long_time": (2, lambda run, ax: plots.long_time(far(run), ax=ax)),
}


@pytest.mark.parametrize("name", DRAWN_ON)
def test_plots_draw_on_the_axes_they_are_given(relu, name):
    count, draw = DRAWN_ON[name]
    figure, axes = own_axes(count)
    assert draw(relu, axes[0] if count == 1 else axes) is figure
    assert all(ax.has_data() for ax in axes)
    with pytest.raises(rl.InputError, match=r"ax must be a .*matplotlib axes.*, found 3 axes"):
        draw(relu, own_axes(3)[1])
    with pytest.raises(rl.InputError, match="found 'left'"):
        draw(relu, "left")


def test_legends_go_beside_only_where_a_layout_makes_room(relu):
    figure, (ax,) = own_axes(1)
    plots.loss_curves(relu, labels=["a"], ax=ax)
    figure.draw_without_rendering()
    assert ax.get_legend().get_window_extent().x1 <= ax.get_window_extent().x1


def test_one_scale_for_several_times(relu):
    net = relu.problem.network
    (ax,) = plots.neuron_directions(net, relu.problem.weights, SIX, unit=10.0).axes
    drawn = np.concatenate([c.get_offsets() for c in ax.collections if c.get_label().startswith("neurons")])
    assert np.linalg.norm(drawn, axis=1).max() == pytest.approx(np.linalg.norm(relu.problem.weights[0], axis=1).max() / 10.0)
    assert ax.get_xlabel() == "$w_1$ / 10"
    image = plots.output_field(net, relu.final, SIX, largest=7.0).axes[0].get_images()[0]
    assert image.get_clim() == (-7.0, 7.0)
    with pytest.raises(rl.InputError, match="unit must be a positive length, found 0"):
        plots.neuron_directions(net, relu.final, SIX, unit=0)
    with pytest.raises(rl.InputError, match="largest must be a positive output, found -1"):
        plots.output_field(net, relu.final, SIX, largest=-1)


def test_a_flat_loss_does_not_lie_on_the_frame():
    problem = rl.Problem(SIX, rl.Network(2, (3,)), (np.zeros((3, 2)), np.zeros((1, 3))))
    run = rl.descend(problem, 0.1, 10, record_every=1)
    (ax,) = plots.loss_curves(run).axes
    assert ax.get_ylim() == (0.0, pytest.approx(1.05 * run.loss[0]))


@pytest.mark.parametrize("strange", [None, [None], [3.0]])
def test_loss_curves_of_what_is_no_run(strange):
    with pytest.raises(rl.InputError, match="runs must be what simulate, descend or predict return, or a list of it, found"):
        plots.loss_curves(strange)
