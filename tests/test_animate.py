"""Films of runs: what moves, what stays, and the files they become."""

from __future__ import annotations

import base64
import re
from io import BytesIO

import numpy as np
import pytest
from matplotlib.contour import ContourSet
from PIL import Image

import rectilinear as rl
from rectilinear import plots
from rectilinear.plots import film as films
from rectilinear.plots import style
from rectilinear.prediction import Prediction

SIX = rl.datasets.six_points()


def descent(data=SIX, widths=(6,), steps=40, scale=0.1, **network):
    net = rl.Network(inputs=data.inputs, widths=widths, **network)
    return rl.descend(rl.Problem(data, net, net.init(scale, seed=0)), learning_rate=0.1, steps=steps, record_every=5)


@pytest.fixture(scope="module")
def run():
    return descent()


@pytest.fixture
def film(run):
    return plots.animate(run, seconds=1.0)


def tips(panel):
    """The scatter of the neurons' ends: the only one with six points."""
    (found,) = [one for one in panel.collections if one.get_zorder() == 4]
    return found


def test_frames_are_the_saved_times_evenly_chosen(run):
    assert plots.animate(run).count == len(run) == 9
    few = plots.animate(run, frames=3)
    seen = []
    for k in range(few.count):
        few.draw(k)
        seen.append(float(few.panels[2].get_lines()[2].get_xdata()[0]))
    np.testing.assert_allclose(seen, run.times[[0, 4, 8]])


def test_neurons_grow_because_the_scale_stays(run, film):
    longest = np.linalg.norm(run.weights[0], axis=2).max()
    limits = [panel.get_xlim() + panel.get_ylim() for panel in film.panels]
    for k in (0, film.count - 1):
        film.draw(k)
        np.testing.assert_allclose(tips(film.panels[0]).get_offsets(), run.weights[0][k] / longest)
    assert [panel.get_xlim() + panel.get_ylim() for panel in film.panels] == limits


def test_colours_follow_the_sign_of_a_neuron_as_it_changes():
    run = descent()
    second = run.weights[1].copy()
    second[0, 0, 0], second[-1, 0, 0] = 1.0, -1.0
    film = plots.animate(rl.Trajectory(run.problem, run.times, run.loss, (run.weights[0], second)))
    first, last = (film.draw(k) or tips(film.panels[0]).get_facecolor()[0] for k in (0, film.count - 1))
    from matplotlib.colors import to_rgb

    np.testing.assert_allclose(first[:3], to_rgb(style.POSITIVE))
    np.testing.assert_allclose(last[:3], to_rgb(style.NEGATIVE))


def test_the_field_keeps_its_colours_and_moves_its_boundary(run, film):
    (image,) = film.panels[1].get_images()
    scale = image.get_clim()
    for k in (0, 4, film.count - 1):
        film.draw(k)
        left, _, bottom, _ = image.get_extent()
        corner = run.problem.network.output(run.weights_at(k), [[left, bottom]])[0]
        assert image.get_array()[0, 0] == pytest.approx(corner, rel=1e-6)
        assert image.get_clim() == scale
        boundaries = [one for one in film.panels[1].collections if isinstance(one, ContourSet)]
        assert len(boundaries) == (image.get_array().min() < 0 < image.get_array().max())
    assert scale[1] == pytest.approx(np.abs(image.get_array()).max())  # the outputs of this run grow to the end


def test_the_loss_is_marked_and_its_past_is_drawn(run, film):
    film.draw(4)
    whole, past, mark = film.panels[2].get_lines()
    np.testing.assert_array_equal(whole.get_ydata(), run.loss)
    np.testing.assert_array_equal(past.get_ydata(), run.loss[:5])
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (run.times[4], run.loss[4])
    assert film.panels[2].get_title() == f"t = {run.times[4]:.4g}"
    assert film.panels[2].get_ylim()[1] > run.loss.max()


def test_more_inputs_are_seen_in_their_main_plane_with_outputs_against_labels():
    rng = np.random.default_rng(0)
    data = rl.Dataset(rng.standard_normal((12, 4)), rng.standard_normal(12))
    run = descent(data)
    film = plots.animate(run)
    film.draw(film.count - 1)
    sizes = np.linalg.svd(run.final[0], compute_uv=False)
    drawn = np.asarray(tips(film.panels[0]).get_offsets())
    share = np.sum(sizes[:2] ** 2) / np.sum(sizes**2)
    first, second = np.linalg.svd(drawn, compute_uv=False)
    assert second / first == pytest.approx(sizes[1] / sizes[0])
    assert film.panels[0].get_title() == f"neurons, main plane ({100 * share:.3g} %)"
    np.testing.assert_allclose(film.panels[1].collections[0].get_offsets(), np.stack([data.y, run.outputs()[-1]], axis=1))


@pytest.mark.parametrize(
    "options",
    [{"widths": (5, 4)}, {"bias": True}, {"data": rl.Dataset([[1.0], [-2.0]], [1.0, 0.5])}],
    ids=["deep", "bias", "one input"],
)
def test_every_network_has_a_film(options):
    run = descent(**options)
    film = plots.animate(run, frames=2)
    assert len(list(film._frames(50))) == 2


def test_axes_of_logarithms_leave_out_time_zero(run):
    film = plots.animate(run, log_time=True, log_loss=True)
    assert film.count == len(run) - 1
    assert (film.panels[2].get_xscale(), film.panels[2].get_yscale()) == ("log", "log")


def test_frames_drawn_in_parts_are_the_figure_itself(film):
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    last = list(film._frames(60))[-1]
    film.figure.set_dpi(60)
    canvas = FigureCanvasAgg(film.figure)
    canvas.draw()
    whole = np.asarray(canvas.buffer_rgba())[:, :, :3].astype(int)
    assert np.mean(np.abs(whole - np.asarray(last)) > 40) < 2e-3  # edges of spines may differ


# files


def test_a_gif_has_all_frames_and_loops(film, tmp_path):
    assert film.save(tmp_path / "run.GIF", dpi=50) == tmp_path / "run.GIF"
    with Image.open(tmp_path / "run.GIF") as picture:
        assert picture.n_frames == film.count
        assert picture.size == (480, 165)
        assert picture.info["loop"] == 0
        assert picture.info["duration"] == pytest.approx(1000 / film.count, abs=10)
        first = np.asarray(picture.convert("RGB"), dtype=int)
        picture.seek(film.count - 1)
        assert np.abs(np.asarray(picture.convert("RGB"), dtype=int) - first).max() > 100


def test_the_player_holds_every_frame_and_needs_nothing_else(film, tmp_path):
    page = film.save(tmp_path / "run.html", dpi=40).read_text()
    frames = re.findall(r"data:image/png;base64,([^\"]+)", page)
    assert len(frames) == film.count
    with Image.open(BytesIO(base64.b64decode(frames[-1]))) as picture:
        assert picture.size == (384, 132)
    assert "http" not in page
    assert "$" not in page
    shown = film._repr_html_()
    assert shown == film._repr_html_()
    assert shown.count("data:image/png") == film.count


@pytest.mark.skipif(not films._ffmpeg_is_there(), reason="needs ffmpeg")
def test_an_mp4_is_written_where_ffmpeg_is(film, tmp_path):
    assert film.save(tmp_path / "run.mp4", dpi=50).read_bytes()[4:8] == b"ftyp"


def test_films_are_refused_where_they_cannot_be_written(film, tmp_path, monkeypatch):
    with pytest.raises(rl.FileError, match=r"run.avi: a name that ends in .gif, .mp4 or .html is required"):
        film.save(tmp_path / "run.avi")
    with pytest.raises(rl.FileError, match="no such folder to save in"):
        film.save(tmp_path / "nowhere" / "run.gif")
    monkeypatch.setattr(films, "_ffmpeg_is_there", lambda: False)
    with pytest.raises(rl.FileError, match=r"ffmpeg is needed for .mp4, and is not installed; save it as .gif or .html"):
        film.save(tmp_path / "run.mp4")
    (tmp_path / "folder.gif").mkdir()
    with pytest.raises(rl.FileError, match="the film could not be written"):
        film.save(tmp_path / "folder.gif", dpi=40)


def test_what_has_no_film_says_so(run):
    with pytest.raises(rl.InputError, match="animate needs a run, as simulate or descend return it, found NoneType"):
        plots.animate(None)
    with pytest.raises(rl.InputError, match="needs the weights over time, and this prediction has none"):
        plots.animate(Prediction(run.problem, run.times, run.loss, ()))
    with pytest.raises(rl.InputError, match="two frames at least and a positive time, found frames=1"):
        plots.animate(run, frames=1)
    with pytest.raises(rl.InputError, match=r"found frames=80 and seconds=0.0"):
        plots.animate(run, seconds=0.0)
    short = descent(steps=5)
    with pytest.raises(rl.InputError, match="needs two finite times after 0 at least, found 1"):
        plots.animate(short, log_time=True)
