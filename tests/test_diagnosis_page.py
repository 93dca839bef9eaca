"""The page of a diagnosis: self-contained, complete, drawn from the diagnosis' own numbers, sound in a real browser."""

import base64
import re
from dataclasses import replace

import numpy as np
import pytest

import rectilinear as rl
from html_pages import Page, assert_sound_in_a_browser, needs_chromium
from rectilinear.diagnose import Verification
from rectilinear.report import diagnosis_page
from rectilinear.report.diagnosis_figures import explained, loss_to_come, mirror_images, principal_directions, spectrum

ROUNDING = 1e-12


def diagnosed(data, scale=1e-3, loss="square", verify=False):
    net = rl.Network(data.inputs, (20,))
    return rl.diagnose(rl.Problem(data, net, net.init(scale=scale, seed=0), loss), verify=verify)


@pytest.fixture(scope="module")
def six_points():
    return diagnosed(rl.datasets.six_points(0.15), verify=True)


@pytest.fixture(scope="module")
def asymmetric():
    """No theorem applies: a small real table."""
    table = rl.datasets.diabetes()
    return diagnosed(rl.Dataset(table.x[:60], table.y[:60], "a <b> & c"))


@pytest.fixture(scope="module")
def page(six_points):
    return diagnosis_page(six_points)


def test_the_page_is_well_formed_and_needs_nothing_else(page):
    parsed = Page(page)
    assert parsed.open == []
    assert len(parsed.images) == 3
    for image in parsed.images:
        assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
        assert image["alt"]
    assert {"figure-loss", "figure-mirror", "figure-spectrum"} <= parsed.ids
    for loaded in ("http", "<script", "@import", "url("):
        assert loaded not in page


def test_the_page_tells_all_that_the_diagnosis_says(page, six_points):
    text = Page(page).text
    for name, finding in six_points.findings.items():
        assert name in text
        assert f"{finding.threshold:.4g}" in text
    for reading in six_points.theorems:
        assert reading.theorem.source in text
    for suggestion in six_points.suggestions:
        assert suggestion.theorem in text
    for told in (*six_points.warnings, *(suggestion.text for suggestion in six_points.suggestions)):
        assert re.split(r"[\^_]", told)[0][1:] in text  # up to the first formula, but for the capital letter
    for name, predicted, simulated in six_points.verified.rows:
        assert name in text
        assert f"{predicted:.4g}" in text
        assert f"{simulated:.4g}" in text
    assert "Theorems that apply: perturbed_symmetry." in text
    assert "sit near 0.44" in text
    assert "nan" not in text


def test_verdicts_are_badges(page, six_points):
    verdicts = [finding.holds for finding in six_points.findings.values()]
    assert page.count('class="badge yes"') == verdicts.count(True)
    assert page.count('class="badge no"') == verdicts.count(False)
    assert page.count('class="badge applies"') == len(six_points.applicable) == 1


def test_texts_of_the_user_are_escaped(asymmetric):
    page = diagnosis_page(asymmetric)
    assert "<h1>Diagnosis of a &lt;b&gt; &amp; c</h1>" in page
    assert Page(page).open == []
    assert "None of the theorems known here applies." in page
    assert "undecided" in page


def test_shares_of_the_labels_fill_the_bar(asymmetric):
    page = diagnosis_page(asymmetric)
    widths = [
        float(piece.split("%")[0]) for piece in page.split("width:")[1:] if piece.split("%")[0].replace(".", "").isdigit()
    ]
    np.testing.assert_allclose(widths, np.multiply(100, asymmetric.budget.fractions), atol=1e-4)
    assert sum(widths) == pytest.approx(100, abs=1e-3)


def lines_by_label(figure):
    return {line.get_label(): line for line in figure.axes[0].lines}


def test_the_loss_is_drawn_as_predicted_and_as_simulated(six_points):
    lines = lines_by_label(loss_to_come(six_points))
    assert set(lines) == {"simulated", "predicted by perturbed_symmetry", "plateau predicted", "half of the first fall"}
    np.testing.assert_array_equal(lines["simulated"].get_ydata(), six_points.verified.run.loss)
    np.testing.assert_array_equal(lines["predicted by perturbed_symmetry"].get_ydata(), six_points.outlook.prediction.loss)
    plateau = six_points.outlook.plateau
    np.testing.assert_array_equal(lines["plateau predicted"].get_xdata(), [plateau.begins, plateau.ends])
    np.testing.assert_array_equal(lines["plateau predicted"].get_ydata(), [plateau.height] * 2)


def test_where_nothing_is_predicted_the_mirrored_data_are_drawn(asymmetric):
    assert asymmetric.outlook.prediction is None
    lines = lines_by_label(loss_to_come(asymmetric))
    drawn = next(line for label, line in lines.items() if label.startswith("other data: with"))
    np.testing.assert_array_equal(drawn.get_ydata(), asymmetric.outlook.mirrored.loss)


def test_a_plateau_without_an_end_is_drawn_to_the_end_of_the_picture(six_points):
    plateau = replace(six_points.outlook.plateau, ends=np.nan)
    endless = replace(six_points, outlook=replace(six_points.outlook, plateau=plateau))
    drawn = lines_by_label(loss_to_come(endless))["plateau predicted"].get_xdata()
    assert drawn[1] == pytest.approx(six_points.outlook.prediction.times[-1])
    assert "time that is not predicted" in diagnosis_page(endless)


def test_without_any_course_the_page_says_so(six_points):
    silent = replace(six_points.outlook, prediction=None, mirrored=None, plateau=None, first_drop=None)
    page = diagnosis_page(replace(six_points, outlook=silent, verified=None, suggestions=()))
    assert "No theorem predicts the course of the loss; simulate it." in page
    assert len(Page(page).images) == 2
    assert "What to try" not in page
    only_run = replace(six_points, outlook=silent, verified=Verification(six_points.verified.run, None, ()))
    assert set(lines_by_label(loss_to_come(only_run))) == {"simulated"}
    assert "reached the last time asked for" not in diagnosis_page(only_run)
    cut = replace(six_points.verified.run, status=rl.Status.OUT_OF_SECONDS)
    shortened = replace(only_run, verified=Verification(cut, None, ()))
    assert "The simulation stopped: max_seconds were used up; what was computed is returned." in diagnosis_page(shortened)


def test_mirror_images_are_the_data_turned_about_the_origin(six_points):
    """Rings lie at minus the dots, in coordinates that keep lengths: here the plane is the whole space."""
    dots, rings = (collection.get_offsets() for collection in mirror_images(six_points).axes[0].collections)
    np.testing.assert_allclose(rings, -dots, atol=ROUNDING)
    lengths = np.linalg.norm(six_points.problem.data.x, axis=1)
    np.testing.assert_allclose(np.linalg.norm(dots, axis=1), lengths, rtol=ROUNDING)


def test_of_even_inputs_both_histograms_agree():
    even = diagnosed(rl.datasets.linear_teacher(inputs=3, pairs=20))
    np.testing.assert_array_equal(*_steps(even))
    uneven = diagnosed(rl.datasets.gaussian_teacher(inputs=3, samples=40))
    assert not np.array_equal(*_steps(uneven))


def _steps(diagnosis):
    """Both histograms from left to right; the filled one goes back along its bottom as well."""
    return [patch.get_xy()[:61] for patch in mirror_images(diagnosis).axes[1].patches]


def test_a_single_input_and_a_target_without_linear_part_are_drawn():
    line = diagnosed(rl.Dataset([[1.0], [-2.0], [3.0]], [1.0, 2.0, -1.0]))
    assert mirror_images(line).axes[0].get_xlabel() == "input x"
    assert len(Page(diagnosis_page(line)).images) == 3
    xor = diagnosed(rl.datasets.xor())  # <y x> = 0
    assert len(Page(diagnosis_page(xor)).images) == 3


def test_the_spectrum_explains_what_the_best_linear_map_does(asymmetric):
    values, shares = explained(asymmetric)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(asymmetric.problem.data.covariance)[::-1], rtol=1e-10)
    assert shares.sum() == pytest.approx(asymmetric.budget.fractions[0], rel=1e-9)
    drawn = spectrum(asymmetric).axes[1].lines[0].get_ydata()
    assert drawn[-1] == pytest.approx(100 * asymmetric.budget.fractions[0], rel=1e-9)
    assert (np.diff(drawn) >= 0).all()


def test_directions_without_inputs_explain_nothing():
    x = np.column_stack([np.random.default_rng(0).standard_normal((30, 2)), np.zeros(30)])
    values, shares = explained(diagnosed(rl.Dataset(x, x[:, 0])))
    assert (values[2], shares[2]) == (0.0, 0.0)
    assert shares.sum() == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize(("samples", "inputs"), [(12, 5), (5, 12), (1, 3)])
def test_principal_directions_rebuild_the_second_moment(samples, inputs):
    x = np.random.default_rng(0).standard_normal((samples, inputs))
    values, directions = principal_directions(x)
    np.testing.assert_allclose(directions.T * values @ directions, x.T @ x / samples, atol=1e-12)
    np.testing.assert_allclose(directions @ directions.T, np.eye(min(samples, inputs)), atol=1e-12)
    assert (np.diff(values) <= 0).all()


DEGENERATE = {
    "one sample": ([[1.0, 2.0, 3.0]], [1.0]),
    "one line": ([[1.0, 2.0], [2.0, 4.0], [-1.0, -2.0]], [1.0, 2.0, 0.5]),
    "labels of zero": ([[1.0, 2.0], [2.0, -1.0]], [0.0, 0.0]),
    "more inputs than samples": (np.eye(3, 7), [1.0, -1.0, 1.0]),
    "a constant column": ([[1.0, 2.0], [1.0, -1.0], [1.0, 0.5]], [1.0, 2.0, 0.5]),
    "large numbers": ([[1e40, 2e40], [2e40, -1e40], [3e40, 1e40]], [1e30, 2e30, -1e30]),
}


@pytest.mark.parametrize(("x", "y"), DEGENERATE.values(), ids=DEGENERATE.keys())
def test_degenerate_data_still_make_a_page(x, y):
    page = Page(diagnosis_page(diagnosed(rl.Dataset(x, y))))
    assert page.open == []
    assert len(page.images) >= 2
    assert "nan" not in page.text


@needs_chromium
@pytest.mark.parametrize("width", [360, 1000])
def test_a_browser_shows_every_image_and_nothing_sticks_out(page, tmp_path, width):
    assert_sound_in_a_browser(page, tmp_path, width)
