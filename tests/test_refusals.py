"""Arguments of the wrong kind are refused with a sentence, not with what some line within happened to raise."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.sweep import consolidate, load_run

X = np.random.default_rng(0).normal(size=(10, 3))
DATA = rl.Dataset(X, X[:, 0])
NET = rl.Network(inputs=3, widths=(5,))
WEIGHTS = NET.init(scale=1e-3, seed=0)
PROBLEM = rl.Problem(DATA, NET, WEIGHTS)
RUN = rl.descend(PROBLEM, 0.1, 10)

NUMBERS = {
    "scale": lambda wrong: NET.init(scale=wrong, seed=0),
    "learning_rate": lambda wrong: rl.descend(PROBLEM, wrong, 5),
    "l2": lambda wrong: rl.Problem(DATA, NET, WEIGHTS, l2=wrong),
    "stop_loss": lambda wrong: rl.simulate(PROBLEM, [0.0, 0.1], stop_loss=wrong),
    "max_seconds": lambda wrong: rl.descend(PROBLEM, 0.1, 5, max_seconds=wrong),
    "max_steps": lambda wrong: rl.simulate(PROBLEM, [0.0, 0.1], max_steps=wrong),
    "rtol": lambda wrong: rl.simulate(PROBLEM, [0.0, 0.1], rtol=wrong),
    "confidence": lambda wrong: rl.linearity(lambda x: x[:, 0], X, confidence=wrong),
    "precision": lambda wrong: rl.Dataset(X, X[:, 0], precision=wrong),
    "output": lambda wrong: rl.linearity(lambda x: x, X, output=wrong),
    "widths": lambda wrong: rl.Network(3, wrong),
}
KINDS = {
    "compare takes a Trajectory, as simulate, descend and predict return it": lambda wrong: rl.compare(RUN, wrong),
    "resume takes a Trajectory, as simulate and descend return it": lambda wrong: rl.resume(wrong, [2.0]),
    "explore takes a Problem": lambda wrong: rl.explore(wrong),
    "f must be a function of samples": lambda wrong: rl.linearity(wrong, X),
    "make must be a function that gives a Problem": lambda wrong: rl.sweep(wrong, grid={"seed": [0]}),
    "kink_events takes a Trajectory, as simulate returns it": rl.plots.kink_events,
    "long_time takes a LongTrajectory, as simulate": rl.plots.long_time,
    "singular_values takes a Trajectory": rl.plots.singular_values,
    "weight_matrices takes a Trajectory": rl.plots.weight_matrices,
    "comparison takes a Comparison, as compare returns it": rl.plots.comparison,
    "sweep_overview takes a Dataset, as sweep and open_sweep return it": rl.plots.sweep_overview,
    "diagnosis_page takes a Diagnosis, as diagnose returns it": rl.report.diagnosis_page,
    "features must name each of the 3 inputs": lambda wrong: rl.Dataset(X, X[:, 0], features=wrong),
    "weights must hold 2 arrays, one per layer": lambda wrong: rl.Problem(DATA, NET, wrong),
}

PATHS = {
    "from_file": rl.Dataset.from_file,
    "load": rl.load,
    "save": RUN.save,
    "film": lambda wrong: rl.plots.animate(RUN, frames=2).save(wrong),
    "open_sweep": rl.open_sweep,
    "load_run": load_run,
    "consolidate": consolidate,
}


@pytest.mark.parametrize("wrong", [None, 3], ids=["None", "number"])
@pytest.mark.parametrize("caller", PATHS)
def test_what_is_no_path_is_refused(caller, wrong):
    with pytest.raises(rl.InputError, match=rf"^(path|folder) must be a text or a pathlib.Path, found {wrong}\.$"):
        PATHS[caller](wrong)


@pytest.mark.parametrize("wrong", ["much", [1.0, 2.0], object()], ids=["text", "list", "object"])
@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_no_number_is_refused(name, wrong):
    if name == "widths" and isinstance(wrong, list):
        wrong = ["much"]
    with pytest.raises(rl.InputError, match=name):
        NUMBERS[name](wrong)


@pytest.mark.parametrize("sentence", KINDS)
def test_what_is_of_another_kind_is_refused(sentence):
    with pytest.raises(rl.InputError, match=sentence):
        KINDS[sentence](3.5)


def test_times_that_are_sorted_are_not_to_be_sorted():
    with pytest.raises(rl.InputError, match=r"found \[ 0. inf\]; drop those that are not"):
        rl.simulate(PROBLEM, [0.0, np.inf])
    with pytest.raises(rl.InputError, match="sort them and drop repeats"):
        rl.simulate(PROBLEM, [1.0, 0.0])


def test_a_method_misspelt_is_guessed():
    with pytest.raises(rl.InputError, match="found 'kink'; did you mean 'kinks'"):
        rl.simulate(PROBLEM, [0.0, 1.0], method="kink")
