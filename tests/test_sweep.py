"""Sweeps: grids, settings, what is stored, what is run again, and what is refused before the first run."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.errors import FileError, InputError
from rectilinear.sweep import consolidate, failures, load_run, open_sweep, to_pandas
from rectilinear.sweep.grid import Grid, Shard
from rectilinear.sweep.measuring import NAMED, Named
from rectilinear.sweep.recipe import problem_of, run_of, times_of
from sweep_parts import (
    a_word,
    always_fails,
    executions,
    first_neuron,
    made_up,
    needs_a_long_run,
    problem,
    with_folder,
)

GRID = {"height": [0.1, 0.2], "seed": range(3)}
SIX_POINTS = {"data": "six_points", "width": 4, "scale": 0.1}


def swept(folder, make="counted", grid=GRID, **options):
    return rl.sweep(with_folder(make, folder), grid, options.pop("measure", "final_loss"), folder=folder, jobs=0, **options)


class TestGrids:
    def test_every_point_by_its_number(self):
        grid = Grid.of({"a": [1, 2, 3], "b": ["x", "y"]})
        points = [grid.point(k) for k in range(grid.size)]
        assert points == [{"a": a, "b": b} for a in (1, 2, 3) for b in ("x", "y")]
        assert [grid.number(grid.indices(k)) for k in range(grid.size)] == list(range(6))

    def test_a_huge_grid_is_never_listed(self):
        grid = Grid.of({name: range(10_000) for name in "abcdef"})
        assert grid.size == 10**24
        assert grid.point(10**24 - 1) == dict.fromkeys("abcdef", 9999)

    def test_ranges(self):
        assert Grid.of({"seed": {"from": 3, "to": 6}}).axes["seed"] == (3, 4, 5, 6)
        np.testing.assert_allclose(
            Grid.of({"d": {"from": 1e-6, "to": 1.0, "points": 7, "spacing": "log"}}).axes["d"], 10.0 ** np.arange(-6, 1)
        )
        assert Grid.of({"d": {"from": 0, "to": 1, "points": 3}}).axes["d"] == (0.0, 0.5, 1.0)

    def test_numbers_of_numpy_become_plain(self):
        values = Grid.of({"d": np.array([0.5, 1.0]), "n": np.arange(2)}).axes
        assert [type(value) for value in (*values["d"], *values["n"])] == [float, float, int, int]

    @pytest.mark.parametrize(
        ("grid", "message"),
        [
            ({}, "grid must map one axis at least"),
            ({"d": []}, "axis d must have one value at least, found none"),
            ({"d": 3}, "axis d must be a list of values or a range, found 3"),
            ({"d": "word"}, "axis d must be a list of values or a range"),
            ({"d": [1.0, math.nan]}, "must have finite numbers, texts or truth values, found nan"),
            ({"d": [None]}, "must have finite numbers, texts or truth values, found None"),
            ({"d": [1, "a"]}, "must have values of one type, found 1, 'a'"),
            ({"d": [1, 2, 1]}, "must have each value once, found 1 twice"),
            (
                {"d": {"from": 0, "to": 1, "pts": 2}},
                "a range has from and to, and may have points and spacing; found unknown 'pts'",
            ),
            ({"d": {"from": 0}}, "a range has from and to, and may have points and spacing; found only from"),
            ({"d": {"from": 0.5, "to": 1}}, "points must be a positive whole number, found None"),
            ({"d": {"from": 5, "to": 1}}, "axis d must have one value at least"),
            ({"d": {"from": "a", "to": 1}}, "from and to must be finite numbers, found 'a' and 1"),
            ({"d": {"from": 0, "to": 1, "points": 3, "spacing": "log"}}, "spacing must be linear, or log between positive"),
        ],
    )
    def test_bad_grids_are_refused(self, grid, message):
        with pytest.raises(InputError, match=message):
            Grid.of(grid)

    def test_shards_share_every_run_once(self):
        numbers = [number for part in range(1, 6) for number in Shard(part, 5).share(range(17))]
        assert sorted(numbers) == list(range(17))

    @pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "1/0"])
    def test_bad_shards_are_refused(self, text):
        with pytest.raises(InputError, match="a shard must read I/N with 1 <= I <= N"):
            Shard.of(text)


class TestSettings:
    def test_every_setting_reaches_the_problem(self):
        made = problem_of(
            "linear_teacher", width=5, depth=3, alpha=0.2, scale=0.3, seed=4, l2=0.1, inputs=3, pairs=4, data_seed=7
        )
        data = rl.datasets.linear_teacher(inputs=3, pairs=4, seed=7)
        network = rl.Network(3, (5, 5), 0.2)
        np.testing.assert_array_equal(made.data.x, data.x)
        assert made.network == network
        assert made.l2 == 0.1
        for found, expected in zip(made.weights, network.init(0.3, 4), strict=True):
            np.testing.assert_array_equal(found, expected)

    def test_data_of_a_file(self, tmp_path):
        np.savez(tmp_path / "data.npz", x=DATA.x, y=DATA.y)
        (tmp_path / "data.csv").write_text("a,b,label\n1,2,1\n3,4,-1\n")
        assert problem_of(str(tmp_path / "data.npz")).data.samples == 6
        assert problem_of(str(tmp_path / "data.csv"), target="label").data.y.tolist() == [1.0, -1.0]
        assert problem_of(str(tmp_path / "data.csv"), drop="a").data.x.tolist() == [[2.0], [4.0]]
        assert problem_of(str(tmp_path / "data.csv"), drop=["b"], centre=True).data.x.tolist() == [[-1.0], [1.0]]
        assert problem_of(str(tmp_path / "data.csv"), standardise=True).data.x.tolist() == [[-1.0, -1.0], [1.0, 1.0]]

    def test_what_is_done_to_a_table_is_checked(self):
        with pytest.raises(rl.InputError, match=r"^centre must be true or false, found 'yes'\.$"):
            problem_of("six_points", centre="yes")
        for setting in ({"drop": "a"}, {"target": "y"}):
            with pytest.raises(
                rl.InputError, match=r"belongs to a file, found the named data set six_points; leave it out\.$"
            ):
                problem_of("six_points", **setting)

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"data": "six_points", "depth": 1}, "depth counts the layers of weights, a whole number >= 2, found 1"),
            ({"data": "six_points", "dleta": 0.1}, "a setting must be one of data, .*delta.*, found 'dleta'"),
            ({"data": "six_point"}, "data must be a file .* or one of .*, found 'six_point'"),
            ({"data": "data.npz", "delta": 0.1}, "a setting must be one of .*, found 'delta'"),
        ],
    )
    def test_bad_settings_are_refused(self, settings, message):
        with pytest.raises(InputError, match=message):
            problem_of(**settings)

    def test_every_method_runs(self):
        made = problem_of(width=6, scale=1e-4, data="linear_teacher", inputs=2, pairs=5)
        assert run_of(made, {"until": 2.0, "points": 3}).times.tolist() == [0.0, 1.0, 2.0]
        assert run_of(made, {"method": "predict", "times": [0.0, 1.0]}).status is rl.Status.PREDICTED
        assert run_of(made, {"method": "descend", "learning_rate": 0.5, "until": 2.0}).times.tolist() == [
            0.0,
            0.5,
            1.0,
            1.5,
            2.0,
        ]

    def test_times(self):
        assert times_of({"times": {"from": 1.0, "to": 100.0, "points": 3, "spacing": "log"}}).tolist() == [
            0.0,
            1.0,
            10.0,
            100.0,
        ]
        assert times_of({"times": [0.0, 3.0]}) == [0.0, 3.0]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"method": "fly"}, "method must be one of simulate, descend, predict, found 'fly'"),
            ({"method": "descend"}, "method descend needs a learning_rate, a positive number, found None"),
            ({"until": -1.0}, "until must be a positive time, found -1.0"),
            ({"until": 1.0, "points": 1}, "points must be a whole number >= 2"),
        ],
    )
    def test_bad_runs_are_refused(self, settings, message):
        with pytest.raises(InputError, match=message):
            run_of(problem_of("six_points"), settings)


class TestMeasures:
    def test_every_measure_by_name_gives_numbers(self):
        run = rl.simulate(problem(0.1, 0), times=[0.0, 1.0, 30.0])
        arguments = {"time_to_loss": "(0.45)", "singular_values": "(0)"}
        for name in NAMED:
            assert np.asarray(Named(name + arguments.get(name, ""))(run), dtype=np.float64).size, name

    def test_arguments_in_brackets(self):
        run = made_up(0.5)
        assert Named("time_to_loss(0.75)")(run) == 0.5
        assert math.isnan(Named("events( cross )")(run))  # made up, so nothing was located
        assert Named("loss_share")(run) == 0.5

    def test_where_theory_and_run_diverge(self):
        data, network = rl.datasets.six_points(delta=0.0), rl.Network(inputs=2, widths=(20,))
        run = rl.simulate(rl.Problem(data, network, network.init(1e-3, 0)), times=np.linspace(0.0, 100.0, 9))
        assert Named("diverges_at(0.5)")(run) == math.inf
        assert Named("diverges_at(1e-12)")(run) <= 100.0
        assert math.isnan(Named("diverges_at")(rl.simulate(problem(0.9, 0), times=[0.0, 1.0])))

    @pytest.mark.parametrize(
        ("measure", "message"),
        [
            ("fianl_loss", "a measure must be a function, FILE.py:NAME or one of final_loss, .*, found 'fianl_loss'"),
            ([], "a sweep must measure something, found no measure"),
            (3, "measure must be a name, a function or a list of them, found 3"),
            ([3], "a measure must be a name or a function, found 3"),
            (["final_loss", "final_loss"], "measures must have different names, found one twice"),
            ("events(jump)", "events counts cross, .*, found 'jump'"),
            (a_word, "measure a_word must give a number or an array of numbers, found 'fine'"),
            (always_fails, "the measures of the first run fails: LookupError: nothing to see"),
            ("time_to_loss", "the measures of the first run fails: TypeError"),
        ],
    )
    def test_bad_measures_are_refused_before_the_first_run_is_kept(self, tmp_path, measure, message):
        with pytest.raises(InputError, match=message):
            swept(tmp_path, measure=measure)
        assert not (tmp_path / "runs").exists()

    def test_a_measure_that_needs_the_whole_run_is_not_refused(self):
        table = rl.sweep(problem, {"delta": [0.1], "seed": [0]}, needs_a_long_run, run={"until": 1.0, "points": 11}, jobs=0)
        assert table["needs_a_long_run"].notnull().all()


class TestSweeps:
    def test_the_numbers_are_those_of_single_runs(self):
        table = rl.sweep(
            SIX_POINTS,
            {"delta": [0.1, 0.2], "seed": [0, 5]},
            ["final_loss", "loss", "times"],
            run={"until": 20.0, "points": 5},
            jobs=0,
        )
        for delta in (0.1, 0.2):
            for seed in (0, 5):
                alone = rl.simulate(problem(delta, seed), times=np.linspace(0.0, 20.0, 5))
                here = table.sel(delta=delta, seed=seed)
                np.testing.assert_array_equal(here["loss"].values, alone.loss)
                np.testing.assert_array_equal(here["times"].values, alone.times)
                assert here["final_loss"].item() == alone.loss[-1]
                assert here["ended"].item() == "FINISHED"

    def test_settings_of_the_run_are_axes_too(self):
        grid = {"method": ["simulate", "descend"], "until": [1.0, 2.0]}
        table = rl.sweep(SIX_POINTS | {"delta": 0.1}, grid, "final_loss", run={"learning_rate": 0.01}, jobs=0)
        simulated, descended = table["final_loss"].values
        np.testing.assert_allclose(simulated, descended, rtol=1e-2)
        assert (simulated != descended).all()

    def test_run_again_and_only_what_is_missing_runs(self, tmp_path):
        first = swept(tmp_path)
        before = len(executions(tmp_path))
        assert swept(tmp_path).identical(first)
        assert len(executions(tmp_path)) == before
        more = swept(tmp_path, grid={"height": [0.1, 0.2, 0.3], "seed": range(4)})
        assert len(executions(tmp_path)) == before + 6 + 1  # six new points, and the rehearsal of the first
        np.testing.assert_array_equal(more["final_loss"].values[:2, :3], first["final_loss"].values)

    def test_shards_leave_holes_that_the_others_fill(self, tmp_path):
        half = swept(tmp_path, shard="1/2")
        assert (half["status"].values.ravel() == ["done", "missing"] * 3).all()
        np.testing.assert_array_equal(np.isnan(half["final_loss"].values.ravel()), [False, True] * 3)
        assert (swept(tmp_path, shard="2/2")["status"] == "done").all()

    def test_failed_runs_leave_their_reason_and_are_tried_again(self, tmp_path):
        table = swept(tmp_path, "failing")
        assert (table["status"].sel(seed=2) == "failed").all()
        assert (table["status"].sel(seed=[0, 1]) == "done").all()
        found = failures(tmp_path)
        assert [failure["reason"] for failure in found] == ["ZeroDivisionError: two is too much"] * 2
        assert "in failing" in found[0]["traceback"]
        assert found[0]["settings"]["point"] == {"height": 0.1, "seed": 2}
        swept(tmp_path, "failing")
        assert [failure["attempts"] for failure in failures(tmp_path)] == [2, 2]

    def test_files_carry_settings_versions_tolerances_and_audit(self, tmp_path):
        import xarray

        rl.sweep(SIX_POINTS, {"delta": [0.1]}, folder=tmp_path, run={"until": 5.0, "rtol": 1e-7}, jobs=0)
        (path,) = (tmp_path / "runs").iterdir()
        with xarray.open_dataset(path, engine="scipy") as contents:
            document = json.loads(contents.attrs["document"])
            assert contents["final_loss"].ndim == 0
        assert document["settings"]["point"] == {"delta": 0.1}
        assert document["settings"]["base"]["fixed"] == SIX_POINTS
        assert document["provenance"]["rtol"] == 1e-7
        assert document["versions"]["rectilinear"] == rl.__version__
        assert document["audit"]["balance_drift"] < 1e-6
        assert path.stat().st_size < 4000

    def test_whole_runs_on_request(self, tmp_path):
        rl.sweep(SIX_POINTS, {"delta": [0.1, 0.2]}, folder=tmp_path, run={"times": [0.0, 5.0]}, keep_runs=True, jobs=0)
        run = load_run(tmp_path, delta=0.2)
        assert run.times.tolist() == [0.0, 5.0]
        with pytest.raises(InputError, match="load_run needs a value for each of delta, found none"):
            load_run(tmp_path)
        with pytest.raises(FileError, match=r"no run is kept at {'delta': 0.3}"):
            load_run(tmp_path, delta=0.3)

    def test_measures_of_different_lengths_are_filled_up(self, tmp_path):
        table = rl.sweep(SIX_POINTS, {"points": [2, 4], "delta": [0.1]}, "loss", run={"until": 1.0}, jobs=0)
        assert np.isnan(table["loss"].values).sum() == 2
        assert np.isnan(table["loss"].sel(points=2).values).sum() == 2

    def test_a_row_per_run(self, tmp_path):
        swept(tmp_path, measure=["final_loss", first_neuron])
        rows = to_pandas(tmp_path)
        assert list(rows.columns) == ["height", "seed", "status", "ended", "final_loss"]
        assert rows["final_loss"].tolist() == [0.1] * 3 + [0.2] * 3

    def test_progress_tells_rate_rest_and_failures(self, tmp_path):
        told = []
        swept(tmp_path, "failing", progress=lambda tally: told.append(str(tally)))
        assert told[0] == "0 of 6 runs, 0 failed"
        assert "3 of 6 runs" in told[3]
        assert "per second" in told[3]
        assert "left, 1 failed" in told[3]
        assert told[-1].endswith("2 failed")


class TestPacks:
    def test_packed_runs_are_found_and_not_run_again(self, tmp_path):
        table = swept(tmp_path, measure=["final_loss", "loss"])
        before = len(executions(tmp_path))
        pack = consolidate(tmp_path)
        assert pack is not None
        assert not list((tmp_path / "runs").iterdir())
        assert open_sweep(tmp_path).identical(table)
        assert swept(tmp_path, measure=["final_loss", "loss"]).identical(table)
        assert len(executions(tmp_path)) == before
        assert consolidate(tmp_path) is None

    def test_packs_add_up(self, tmp_path):
        swept(tmp_path, shard="1/2")
        consolidate(tmp_path)
        table = swept(tmp_path)
        consolidate(tmp_path)
        assert len(list((tmp_path / "packs").iterdir())) == 2
        assert open_sweep(tmp_path).identical(table)

    def test_a_damaged_pack_is_said_to_be_one(self, tmp_path):
        swept(tmp_path)
        consolidate(tmp_path).write_bytes(b"nothing")
        with pytest.raises(FileError, match="a file of packed runs is required, this is not one"):
            open_sweep(tmp_path)


class TestRefusals:
    @pytest.mark.parametrize(
        ("grid", "message"),
        [
            ({"delta": [0.1], "sede": [0]}, r"an axis must be a parameter of make \(delta, seed\) or a setting of the run"),
            ({"delta": [0.1, "a"], "seed": [0]}, "axis delta must have values of one type"),
            ({"delta": [2.0], "seed": [0]}, "the first run fails: delta must lie strictly between"),
            ({"delta": ["a"], "seed": [0]}, "the sweep cannot begin, the first run fails"),
        ],
    )
    def test_of_functions(self, tmp_path, grid, message):
        with pytest.raises(InputError, match=message):
            rl.sweep(problem, grid, folder=tmp_path / "runs", jobs=0)
        assert not (tmp_path / "runs").exists()

    @pytest.mark.parametrize(
        ("make", "grid", "message"),
        [
            (SIX_POINTS, {"dleta": [0.1]}, "dleta = 0.1 fails: a setting must be one of .*, found 'dleta'"),
            (SIX_POINTS, {"delta": [0.1, 3.0]}, "delta = 3.0 fails: delta must lie strictly between"),
            (SIX_POINTS, {"alpha": [0.0, 2.0]}, "alpha = 2.0 fails: alpha must lie in"),
            (SIX_POINTS, {"seed": [0.5]}, "the sweep cannot begin, seed = 0.5 fails"),
            (SIX_POINTS, {"width": [4]}, "width must be either fixed or an axis of the grid, found both"),
            ({"width": 4}, {"delta": [0.1]}, "a sweep needs data, a named data set or a file, found only width"),
            (SIX_POINTS, {"loss": ["square", "cubic"]}, "loss = 'cubic' fails: loss must be one of"),
            (SIX_POINTS, {"method": ["fly"]}, "the first run fails: method must be one of"),
            (
                SIX_POINTS,
                {"method": ["simulate", "descend"]},
                "method = 'descend' fails: method descend needs a learning_rate",
            ),
            (SIX_POINTS, {"until": [5.0, -5.0]}, "until = -5.0 fails: until must be a positive time"),
        ],
    )
    def test_of_settings(self, tmp_path, make, grid, message):
        with pytest.raises(InputError, match=message):
            rl.sweep(make, grid, folder=tmp_path / "runs", jobs=0)
        assert not (tmp_path / "runs").exists()

    def test_unknown_settings_of_the_run(self):
        with pytest.raises(InputError, match=r"a setting of the run must be one of .*, found 'untill'"):
            rl.sweep(SIX_POINTS, {"delta": [0.1]}, run={"untill": 3.0})

    def test_what_is_no_problem(self):
        with pytest.raises(InputError, match="make must give a Problem or a Trajectory, found int"):
            rl.sweep(lambda seed: 3, {"seed": [0]}, jobs=0)

    def test_functions_that_cannot_travel(self):
        with pytest.raises(InputError, match="make must be a function that other processes can import"):
            rl.sweep(lambda seed: made_up(0.1, seed), {"seed": [0]}, jobs=1)
        with pytest.raises(InputError, match="measure mine must be a function that other processes can import"):
            rl.sweep(problem, {"delta": [0.1], "seed": [0]}, {"mine": lambda run: 0.0}, jobs=1)

    def test_a_folder_of_another_sweep(self, tmp_path):
        swept(tmp_path)
        with pytest.raises(FileError, match=r"a sweep with the same axes is required, found \['height', 'seed'\]"):
            swept(tmp_path, grid={"height": [0.1], "seed": [0], "until": [1.0]})
        with pytest.raises(FileError, match="a sweep with the same run is required"):
            swept(tmp_path, run={"until": 3.0})

    def test_no_folder_of_a_sweep(self, tmp_path):
        with pytest.raises(FileError, match="the folder of a sweep is required, found none there"):
            open_sweep(tmp_path)

    def test_a_file_where_the_folder_should_be(self, tmp_path):
        (tmp_path / "runs").write_text("")
        with pytest.raises(FileError, match="the folder could not be made"):
            rl.sweep(SIX_POINTS, {"delta": [0.1]}, folder=tmp_path / "runs", jobs=0)


DATA = rl.datasets.six_points()
