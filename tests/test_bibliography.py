"""Citations: every theorem's paper is known, and results name what they rest on."""

import re

import rectilinear as rl
from rectilinear.bibliography import DATA, PAPERS, bibtex
from rectilinear.theorems import THEOREMS


def keys(entries):
    return re.findall(r"^@\w+\{(\w+),$", entries, flags=re.MULTILINE)


def test_every_theorem_has_a_paper():
    for theorem in THEOREMS.values():
        assert any(mark in theorem.source for mark in PAPERS), theorem


def test_entries_are_well_formed_and_named_once():
    everything = bibtex([*PAPERS, *PAPERS])
    assert len(keys(everything)) == len(set(keys(everything))) == 1 + len(PAPERS)
    for entry in [everything, *DATA.values()]:
        assert entry.count("{") == entry.count("}")
    assert all(rl.datasets.make(name).name.startswith(name) for name in DATA)


def test_results_name_what_they_rest_on():
    net = rl.Network(2, (6,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.15), net)
    assert keys(rl.descend(problem, 0.1, 2).citations()) == ["rectilinear"]
    assert keys(rl.predict(problem, [0.0, 1.0]).citations()) == ["rectilinear", "zhang2024bias"]
    assert "zhang2024bias" in keys(rl.diagnose(problem).citations())
    data = rl.datasets.breast_cancer()
    run = rl.descend(rl.Problem(data, rl.Network(data.inputs, (2,))), 0.01, 1)
    assert keys(run.citations()) == ["rectilinear", "wolberg1993breast"]
