"""Trajectories: round trip through netCDF, the card, views of the run, and files that are not runs."""

import json
from dataclasses import replace

import h5py
import numpy as np
import pytest
import xarray

import rectilinear as rl
from rectilinear.events import Events
from rectilinear.trajectory import FORMAT, check_times

ROUNDING = 1e-13
AUDIT = rl.Audit(balance_drift=1e-12, loss_rise=0.0, energy_residual=2e-9)


def made_run(times=4, status=rl.Status.FINISHED, audit=AUDIT, l2=0.0, **network):
    rng = np.random.default_rng(0)
    data = rl.Dataset(rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5), "made", {"separable"})
    net = rl.Network(**{"inputs": 2, "widths": (3,), "alpha": 0.25, **network})
    weights = tuple(rng.standard_normal((times, *shape)) for shape in net.shapes)
    problem = rl.Problem(data, net, net.init(1.0, seed=0), "logistic", l2)
    loss = np.array([problem.data_loss(tuple(layer[k] for layer in weights)) for k in range(times)])
    return rl.Trajectory(
        problem,
        np.arange(times) / 3,
        loss,
        weights,
        status,
        audit,
        {"steps": np.int64(12), "seconds": 0.5},
        {"method": "made", "rtol": 1e-9},
    )


@pytest.mark.parametrize(
    "network",
    [{}, {"widths": (3, 2)}, {"bias": True}, {"trainable": (True, False)}],
    ids=["two layers", "deep", "bias", "fixed"],
)
def test_a_saved_run_comes_back_whole(tmp_path, network):
    run = made_run(l2=0.125, **network)
    again = rl.load(run.save(tmp_path / "run.nc"))
    for name in ("times", "loss"):
        np.testing.assert_array_equal(getattr(again, name), getattr(run, name))
    for mine, back in zip((*run.weights, *run.problem.weights), (*again.weights, *again.problem.weights), strict=True):
        np.testing.assert_array_equal(back, mine)
    np.testing.assert_array_equal(again.problem.data.x, run.problem.data.x)
    np.testing.assert_array_equal(again.problem.y, run.problem.y)
    assert (again.problem.data.name, again.problem.data.promises) == ("made", {"separable"})
    assert again.problem.network == run.problem.network
    assert (again.problem.loss, again.problem.l2) == (run.problem.loss, 0.125)
    assert (again.status, again.audit) == (run.status, run.audit)
    assert (again.statistics, again.provenance) == (run.statistics, run.provenance)
    assert repr(again) == repr(run)


def made_events(count):
    rng = np.random.default_rng(1)
    floats = {name: rng.standard_normal(count) for name in ("time", "velocity_below", "velocity_above", "multiplier")}
    return Events(
        neuron=np.arange(count),
        line=np.zeros(count, dtype=np.intp),
        kind=np.ones(count, dtype=np.int8),
        **floats,
        unlisted=7,
    )


@pytest.mark.parametrize("count", [0, 3])
def test_events_survive_saving(tmp_path, count):
    events = made_events(count)
    again = rl.load(replace(made_run(), events=events).save(tmp_path / "run.nc")).events
    for name in Events.columns():
        np.testing.assert_array_equal(getattr(again, name), getattr(events, name))
        assert getattr(again, name).dtype == getattr(events, name).dtype
    assert again.unlisted == events.unlisted == 7


def test_a_run_that_follows_no_kinks_has_no_events(tmp_path):
    assert rl.load(made_run().save(tmp_path / "run.nc")).events is None


@pytest.mark.parametrize("status", rl.Status)
def test_every_status_survives_saving(tmp_path, status):
    run = replace(made_run(status=status, audit=None), reason="it is late")
    again = rl.load(run.save(tmp_path / "run.nc"))
    assert again.status is status
    assert again.ended == run.ended == f"{status.value}: it is late"
    assert again.audit is None


def test_saving_replaces_the_old_file_and_leaves_nothing_else(tmp_path):
    path = tmp_path / "run.nc"
    made_run(times=2).save(path)
    made_run(times=3).save(path)
    assert len(rl.load(path)) == 3
    assert list(tmp_path.iterdir()) == [path]


def test_saving_needs_a_folder(tmp_path):
    with pytest.raises(rl.FileError) as refusal:
        made_run().save(tmp_path / "nowhere" / "run.nc")
    assert str(refusal.value) == f"{tmp_path / 'nowhere'}: no such folder to save in; create it first."


def test_saving_onto_a_folder_is_refused(tmp_path):
    (tmp_path / "run.nc").mkdir()
    with pytest.raises(rl.FileError, match=r"run\.nc: a file to save in is required, found a folder; name a file in it\.$"):
        made_run().save(tmp_path / "run.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["run.nc"]


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(rl.FileError, match=r": the run could not be written \(.+\); choose another place\.$"):
        made_run().save(tmp_path / ("long" * 100))
    assert not list(tmp_path.iterdir())


def refusal_to_load(path):
    with pytest.raises(rl.FileError) as refusal:
        rl.load(path)
    return str(refusal.value)


def with_metadata(tmp_path, **changes):
    path = made_run().save(tmp_path / "run.nc")
    with h5py.File(path, "a") as file:
        metadata = json.loads(file.attrs["rectilinear"]) | changes
        file.attrs["rectilinear"] = json.dumps(metadata)
    return path


def test_a_missing_file_is_named(tmp_path):
    assert refusal_to_load(tmp_path / "run.nc") == f"{tmp_path / 'run.nc'}: no such file; check the path."


def test_a_newer_format_is_refused(tmp_path):
    path = with_metadata(tmp_path, format=FORMAT + 1)
    wanted = f"run.nc: format {FORMAT} or older is required, found {FORMAT + 1}; update rectilinear to read it."
    assert refusal_to_load(path) == wanted


NOT_A_RUN = "run.nc: a run saved by Trajectory.save is required, this is not one ("


@pytest.mark.parametrize(
    "changes",
    [{"format": "new"}, {"kind": "Dream"}, {"status": "HAPPY"}, {"network": {"inputs": 2}}, {"loss": "hinge"}],
    ids=["format", "kind", "status", "network", "loss"],
)
def test_strange_metadata_is_refused(tmp_path, changes):
    assert refusal_to_load(with_metadata(tmp_path, **changes)).startswith(NOT_A_RUN)


def test_netcdf_of_other_programs_is_refused(tmp_path):
    path = tmp_path / "run.nc"
    xarray.Dataset({"rain": ("day", [1.0, 2.0])}).to_netcdf(path, engine="h5netcdf")
    assert refusal_to_load(path) == f"{NOT_A_RUN}KeyError: 'rectilinear')."


@pytest.mark.parametrize(
    "content", [b"", b"not a netCDF file", b"\x89HDF\r\n\x1a\n" + bytes(50)], ids=["empty", "text", "cut"]
)
def test_files_that_are_not_netcdf_are_refused(tmp_path, content):
    path = tmp_path / "run.nc"
    path.write_bytes(content)
    assert refusal_to_load(path).startswith(NOT_A_RUN)


def test_a_run_without_its_weights_is_refused(tmp_path):
    path = made_run().save(tmp_path / "run.nc")
    with h5py.File(path, "a") as file:
        del file["weights_2"]
    assert refusal_to_load(path).startswith(NOT_A_RUN)


def test_the_card_tells_problem_status_times_loss_cost_and_audit():
    run = made_run()
    assert repr(run).splitlines() == [
        "Trajectory",
        "  problem   leaky ReLU (alpha 0.25) 2-3-1 on made (5 samples), logistic loss",
        "  status    reached the last time asked for",
        "  times     4 from 0 to 1",
        f"  loss      {run.loss[0]:.6g} -> {run.loss[-1]:.6g}",
        "  cost      12 steps, 0.5 seconds",
        "  audit     balance drift 1.0e-12, largest loss rise 0.0e+00, energy residual 2.0e-09",
    ]


def test_the_card_tells_the_events():
    lines = repr(replace(made_run(), events=Events())).splitlines()
    assert "  events    none" in lines


def test_the_card_of_an_empty_or_unaudited_run_is_shorter():
    run = made_run(times=0, status=rl.Status.INTERRUPTED, audit=None)
    lines = repr(run).splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["problem", "status", "cost"]
    assert str(rl.Audit(None, 1e-3, None)) == "balance drift -, largest loss rise 1.0e-03, energy residual -"


def test_views_of_the_run_agree_with_the_network():
    run = made_run(l2=0.5)
    problem, last = run.problem, run.final
    x = np.array([[1.0, -2.0], [0.3, 0.1]])
    assert run.outputs().shape == (4, 5)
    np.testing.assert_array_equal(run.outputs(x)[-1], problem.network.output(last, x))
    np.testing.assert_array_equal(run.weights_at(3)[1], last[1])
    assert run.objective[-1] == pytest.approx(problem.objective(last), rel=ROUNDING)
    np.testing.assert_allclose(run.linear_map[-1] @ x[0], (run.outputs(x)[-1] - run.outputs(-x)[-1])[0] / 2, rtol=ROUNDING)


def test_without_regularisation_the_objective_is_the_loss():
    run = made_run()
    assert run.objective is run.loss


def test_xarray_names_every_dimension():
    contents = made_run().to_xarray()
    assert contents["weights_1"].dims == ("time", "out_1", "in_1")
    assert contents["weights_2"].sizes == {"time": 4, "out_2": 1, "in_2": 3}
    assert contents["x"].dims == ("sample", "input")
    assert contents["time"].attrs["units"] == "tau"
    assert json.loads(contents.attrs["rectilinear"])["format"] == FORMAT


def test_json_has_the_curve_and_null_for_what_is_not_a_finite_number():
    run = made_run(audit=rl.Audit(None, float("nan"), 1.0))
    broken = replace(run, loss=np.array([1.0, 2.0, np.inf, np.nan]))
    contents = json.loads(broken.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert contents["loss"] == [1.0, 2.0, None, None]
    assert contents["times"] == run.times.tolist()
    unknown = dict.fromkeys(("balance_drift", "loss_rise", "weight_error", "loss_error"))
    assert contents["audit"] == {**unknown, "energy_residual": 1.0}
    assert (contents["loss_name"], contents["ended"]) == ("logistic", run.ended)
    assert contents["statistics"] == {"steps": 12, "seconds": 0.5}


def test_metadata_that_json_cannot_hold_is_refused():
    run = made_run()
    strange = rl.Trajectory(run.problem, run.times, run.loss, run.weights, provenance={"method": object()})
    with pytest.raises(TypeError, match=r"^results must be numbers, texts, lists and mappings of them, found object$"):
        strange.to_xarray()


@pytest.mark.parametrize("times", [0.0, [0, 1, 2.5], np.array([3.0])])
def test_rising_times_are_fine(times):
    np.testing.assert_array_equal(check_times(times), np.atleast_1d(times))


def test_the_last_time_may_be_infinite_where_that_is_allowed():
    assert check_times([0.0, np.inf], allow_infinity=True).tolist() == [0.0, np.inf]
    with pytest.raises(rl.InputError, match=r"^times must be not negative and strictly rising, found \[inf inf\]; "):
        check_times([np.inf, np.inf], allow_infinity=True)


@pytest.mark.parametrize(
    ("times", "sentence"),
    [
        ([], "times must be a non-empty list of numbers, found shape (0,)."),
        ([[1.0]], "times must be a non-empty list of numbers, found shape (1, 1)."),
        ("soon", "times must be numbers (could not convert string to float: 'soon')."),
        *(
            (times, f"times must be finite, not negative and strictly rising, found {shown}; {remedy}.")
            for times, shown, remedy in [
                ([-1, 2], "[-1.  2.]", "drop those that are not"),
                ([0, 1, 1], "[0. 1. 1.]", "sort them and drop repeats"),
                ([2, 1], "[2. 1.]", "sort them and drop repeats"),
                ([0, np.inf], "[ 0. inf]", "drop those that are not"),
            ]
        ),
    ],
)
def test_other_times_are_refused(times, sentence):
    with pytest.raises(rl.InputError) as refusal:
        check_times(times)
    assert str(refusal.value) == sentence


def test_a_neuron_taken_over_a_kink_at_which_it_came_to_rest_is_a_choice() -> None:
    """Which way it goes on is up to what steps leave of their errors: its own velocity would never bring it there."""
    crossings = [(1.0, 0, 0, rl.Kind.CROSS, -6e-4, -1e-12, np.nan), (2.0, 0, 1, rl.Kind.CROSS, -1e-12, -6e-4, np.nan)]
    from_rest, to_rest = (Events.of_log([crossing]) for crossing in crossings)
    assert (from_rest.choices, from_rest.certified, to_rest.choices, to_rest.certified) == (1, False, 0, True)
    assert str(from_rest) == "1 cross (1 over a kink at which they came to rest)"
