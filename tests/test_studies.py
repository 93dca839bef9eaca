"""Studies at small size: what they measure, say, draw and write; and classifiers far out in log t on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import xarray
from click.testing import CliRunner
from matplotlib.figure import Figure

import rectilinear as rl
from rectilinear import cli, plots
from rectilinear.errors import FileError, FlowError, InputError
from rectilinear.studies import MAKERS, Study, run_studies
from rectilinear.studies.correlation import correlated_data, correlation_path
from rectilinear.studies.directions import direction_convergence
from rectilinear.studies.far_limits import far_limits, limit_rates, plain_descent, random_problem
from rectilinear.studies.nearly_orthogonal import frozen_patterns, stable_ranks
from rectilinear.studies.problems import far_run
from rectilinear.studies.separable import separable_solutions
from rectilinear.studies.small_steps import small_steps
from rectilinear.studies.symmetric import symmetric_margin
from rectilinear.studies.width import finite_width


def values(study, name):
    return np.asarray(study.numbers[name][1])


def lines(study):
    """The curves drawn, over all axes."""
    return [line.get_xydata() for ax in study.draw().axes for line in ax.lines]


@pytest.fixture(scope="module")
def call():
    runner = CliRunner()

    def invoke(*arguments):
        return runner.invoke(cli.main, [str(argument) for argument in arguments])

    return invoke


class TestStudies:
    def test_far_limits(self):
        study = far_limits(problems=2, descent_steps=2000)
        assert values(study, "angle")[:, 0].max() < 1e-5
        assert values(study, "angle")[:, 1].max() < 1e-7
        assert values(study, "norm_error")[:, 1].max() < 1e-7
        assert values(study, "descent_angle").min() > 1e-3
        assert "2 of 2 problems are below 1e-5" in study.finding
        assert len(lines(study)) == 3

    def test_plain_descent_is_descent(self):
        problem = random_problem(3)
        first, second = problem.weights[0].copy(), problem.weights[1][0].copy()
        plain_descent(first, second, problem.x, problem.y, 0.5, 300)
        run = rl.descend(problem, 0.5, 300, record_every=300)
        np.testing.assert_allclose(first, run.final[0], atol=1e-12)
        np.testing.assert_allclose(second, run.final[1][0], atol=1e-12)

    def test_limit_rates(self):
        study = limit_rates(seed=3)
        np.testing.assert_allclose(values(study, "exponent"), [-0.5, -0.5, -1.0, -1.0], atol=0.03)
        assert len(lines(study)) == 4

    def test_symmetric_margin(self):
        study = symmetric_margin(seeds=1)
        assert values(study, "angle")[..., -1].max() < 1e-3
        assert values(study, "even_share")[..., -1].max() < 1e-3
        assert "in all 4 runs" in study.finding

    def test_stable_ranks(self):
        study = stable_ranks(samples=(6, 8), half=6)
        ranks, predicted = values(study, "stable_rank")[:, -1], values(study, "predicted_rank")
        np.testing.assert_allclose(ranks[:2], 1.0, rtol=0.01)
        np.testing.assert_allclose(ranks, predicted[:, :2], rtol=0.01)
        np.testing.assert_allclose(values(study, "stable_rank_full")[:, -1], predicted[:, 2], rtol=0.01)
        np.testing.assert_allclose(values(study, "loss_slope"), -1.0, atol=0.02)
        assert np.all(values(study, "margin_spread")[:, -1] < 0.1 * values(study, "margin_spread")[:, 10])

    def test_frozen_patterns(self):
        study = frozen_patterns(steps=600, half=8, samples=8, inputs=60)
        last, late = values(study, "last_switch_step"), values(study, "late_switches")
        assert last[0] < 20
        assert last[1] < 20
        assert late[2] > 0
        assert values(study, "held_pairs")[2] > 0
        shares = values(study, "hold_share")
        assert shares.size
        assert 0 < shares.min() < shares.max() < 1
        assert "freeze, with neurons on kinks" in study.finding

    def test_correlation_path(self):
        gram = correlated_data(0.3, 0).x @ correlated_data(0.3, 0).x.T
        np.testing.assert_allclose(np.diag(gram), 1.0)
        assert 0.1 < np.abs(gram - np.diag(np.diag(gram))).max() <= 0.3
        study = correlation_path(seeds=1, correlations=np.array([0.0, 0.1]))
        ranks, spreads = values(study, "stable_rank"), values(study, "margin_spread")
        np.testing.assert_allclose(ranks[0], 1.0, rtol=0.01)  # leaky, far from where it breaks
        assert spreads.max() < 0.05
        assert values(study, "late_switches")[:, 0].max() == 0  # orthogonal samples
        assert np.isinf(values(study, "near_orthogonality")[0]).all()

    def test_finite_width(self):
        study = finite_width(draws=3)
        assert values(study, "stable_rank").shape == (7, 3)
        assert values(study, "some_sample_unseen")[-1] == 0.0
        assert values(study, "some_sample_unseen")[0] == 1.0  # one neuron a class cannot see five orthogonal samples at once
        assert values(study, "some_class_missed")[-1] == 0.0

    def test_separable_solutions(self):
        study = separable_solutions(data_sets=3, starts=2)
        margins, left_out = values(study, "margin_over_linear"), values(study, "left_out")
        assert (left_out == 0).any()
        assert (margins[left_out == 0] > 1.0).all()
        assert (values(study, "directions")[left_out == 0] >= 1).all()

    def test_direction_convergence(self):
        study = direction_convergence(seeds=1)
        changes = values(study, "change")
        assert (changes[:, :, -1] < changes[:, :, 0]).all()
        assert (np.diff(values(study, "late_events"), axis=2) <= 0).all()

    def test_small_steps(self):
        study = small_steps(rates=np.array([0.02, 0.01, 0.005, 0.0025]))
        np.testing.assert_allclose(values(study, "order"), 1.0, atol=0.2)
        (ax,) = study.draw().axes
        assert [label.get_text() for label in ax.get_xticklabels(which="both")] == ["0.02", "0.01", "0.005", "0.0025"]


def test_a_run_that_ends_early_is_no_finding():
    data = rl.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, 1.0])  # the loss settles while weights grow
    problem = rl.Problem(data, rl.Network(2, (2,)), ([[1.0, -0.1], [-0.1, 1.0]], [[1.0, 1.0]]), loss="logistic")
    with pytest.raises(FlowError, match="a study needs runs to the last time, but one on data ended early"):
        far_run(problem, [1.0, 1e5])


def drawn():
    figure = Figure()
    figure.subplots().plot([0.0, 1.0])
    return figure


def made(name):
    numbers = {"height": (("step",), np.array([1.0, np.inf])), "count": ((), np.array(3))}
    return Study(name, "Is it so?", "Source", f"It is so, says {name}.", numbers, drawn)


def straight():
    return made("straight")


def flipped():
    return made("flipped")


def broken():
    raise ValueError("nothing to see")


def leaving():
    os._exit(3)


class TestCollection:
    makers = {"one": lambda: made("one"), "two": lambda: made("two")}  # noqa: RUF012

    def test_all_are_written_and_shown(self, tmp_path):
        studies = list(run_studies((), tmp_path / "new", self.makers))
        assert [study.name for study in studies] == ["one", "two"]
        page = (tmp_path / "new/studies.html").read_text(encoding="utf-8")
        assert page.index("It is so, says one.") < page.index("It is so, says two.")
        assert page.count("<img ") == 2
        for kind in ("png", "pdf"):
            assert (tmp_path / f"new/two.{kind}").stat().st_size > 1000
        with xarray.open_dataset(tmp_path / "new/one.nc", engine="h5netcdf") as kept:
            np.testing.assert_array_equal(kept["height"], [1.0, np.inf])
            assert kept.attrs["finding"] == "It is so, says one."
        assert json.loads((tmp_path / "new/one.json").read_text())["numbers"] == {"height": [1.0, None], "count": 3}

    def test_a_named_one_leaves_the_others_on_the_page(self, tmp_path):
        list(run_studies(("two",), tmp_path, self.makers))
        list(run_studies(("one",), tmp_path, self.makers))
        page = (tmp_path / "studies.html").read_text(encoding="utf-8")
        assert page.index("says one.") < page.index("says two.")

    def test_refusals(self, tmp_path):
        with pytest.raises(InputError, match=r"names must be among one, two, found three\."):
            next(run_studies(("three",), tmp_path, self.makers))
        (tmp_path / "file").write_text("")
        with pytest.raises(FileError, match="the folder could not be made"):
            next(run_studies((), tmp_path / "file/sub", self.makers))

    def test_processes_make_what_is_made_here(self, tmp_path):
        makers = {"flipped": flipped, "broken": broken, "straight": straight}
        for jobs in (0, 2):
            steps = run_studies((), tmp_path / str(jobs), makers, jobs)
            assert {next(steps).name, next(steps).name} == {"flipped", "straight"}
            with pytest.raises(FlowError, match=r"found 1 that failed \(broken: ValueError: nothing to see\)\."):
                next(steps)
        for name in ("flipped.json", "straight.json", "studies.html"):
            assert (tmp_path / "0" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()

    def test_a_process_that_dies_is_told(self, tmp_path):
        steps = run_studies((), tmp_path, {"leaving": leaving, "straight": straight}, jobs=1)
        assert next(steps).name == "straight"
        with pytest.raises(FlowError, match=r"leaving: the process that made it died, perhaps for lack of memory"):
            next(steps)

    def test_printed(self):
        assert repr(made("one")) == "one: Is it so?\nIt is so, says one."


class TestCommandLine:
    problem = ("--data", "orthogonally_separable", "--set", "inputs=3", "--width", 8, "--loss", "logistic")

    def test_study(self, call, tmp_path, monkeypatch):
        monkeypatch.setattr("rectilinear.studies.MAKERS", TestCollection.makers)
        monkeypatch.setattr(
            "rectilinear.studies.run_studies",
            lambda names, out, jobs, engine: run_studies(names, out, TestCollection.makers),
        )
        printed = call("study", "two", "--out", tmp_path)
        assert printed.exit_code == 0
        assert printed.stdout == f"two: Is it so?\nIt is so, says two.\n\n{tmp_path / 'studies.html'}\n"
        as_json = call("study", "two", "--out", tmp_path, "--json")
        assert [study["name"] for study in json.loads(as_json.stdout)] == ["two"]
        assert call("study", "--out", tmp_path, "--quiet").stdout == ""

    def test_studies_are_listed(self, call):
        names = [line.split()[0] for line in call("study", "--list").stdout.splitlines()]
        assert names == list(MAKERS)
        purposes = json.loads(call("study", "--list", "--json").stdout)
        assert all(text.endswith(".") for text in purposes.values())

    def test_an_unknown_study_is_refused(self, call, tmp_path):
        result = call("study", "none", "--out", tmp_path)
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: names must be among far_limits, ")

    def test_far_times(self, call, tmp_path):
        result = call("simulate", *self.problem, "--log10-times", "2,100,1e5", "--json", "--plot", tmp_path / "far.png")
        assert result.exit_code == 0
        told = json.loads(result.stdout)
        assert told["log10_times"] == [2.0, 100.0, 1e5]
        assert told["times"] == [100.0, 1e100, None]
        np.testing.assert_allclose(told["log_loss"][-1], -1e5 * np.log(10), rtol=1e-3)
        assert told["normalised_margin"][0] < told["normalised_margin"][-1]
        assert (tmp_path / "far.png").stat().st_size > 1000

    def test_until_the_direction_converges(self, call):
        result = call("simulate", *self.problem, "--until", "converges")
        assert result.exit_code == 0
        assert "direction converged: changed by" in result.stdout

    @pytest.mark.parametrize(
        ("arguments", "sentence"),
        [
            ((), "simulate needs --until or --log10-times, one of the two; say how far to go."),
            (
                ("--until", 1, "--log10-times", 1),
                "simulate needs --until or --log10-times, one of the two; say how far to go.",
            ),
            (("--until", "soon"), "--until takes numbers, found 'soon'."),
            (("--log10-times", "1,two"), "--log10-times takes numbers, found 'two'."),
            (
                ("--log10-times", "2,1"),
                "log10_times must be strictly rising numbers up to 2.68435e+08 (-inf is the start), found [2. 1.].",
            ),
        ],
    )
    def test_refusals(self, call, arguments, sentence):
        result = call("simulate", *self.problem, *arguments)
        assert (result.exit_code, result.stderr) == (2, f"Error: {sentence}\n")


class TestLongTimeFigure:
    def run(self, log10_times):
        data, net = rl.datasets.orthogonally_separable(samples=6, inputs=2), rl.Network(2, (6,))
        return rl.simulate(rl.Problem(data, net, net.init(1e-2, seed=0), loss="logistic"), log10_times=log10_times)

    def test_what_it_draws(self):
        run = self.run([-np.inf, 0.5, 10.0, 1e4])
        left, right = plots.long_time(run).axes
        np.testing.assert_array_equal(left.lines[0].get_xdata(), [0.5, 10.0, 1e4])
        np.testing.assert_array_equal(left.lines[0].get_ydata(), -run.log_loss[1:])
        drawn = sorted(line.get_ydata()[-1] for line in right.lines)
        np.testing.assert_array_equal(drawn, np.sort(run.normalised_margins[-1]))

    def test_times_before_one_cannot_be_drawn(self):
        with pytest.raises(InputError, match="draws times after t = 1, found none in 2 saved times"):
            plots.long_time(self.run([-np.inf, -1.0]))


def test_the_page_on_far_times_names_every_study():
    page = (Path(__file__).parents[1] / "docs/infinity.md").read_text(encoding="utf-8")
    assert [name for name in MAKERS if f"**{name}**" not in page] == []
