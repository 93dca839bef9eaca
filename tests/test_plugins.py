"""Other packages add data sets, theorems, measures, papers and claims; one that is broken costs a sentence."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import rectilinear as rl
from rectilinear import plugins
from rectilinear.cli import main
from rectilinear.reproduce import known_claims
from rectilinear.theorems import known_theorems

EXAMPLE = Path(__file__).parent / "example_plugin"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The example package as pip installs it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(EXAMPLE)], check=True, timeout=120)
    return folder


@pytest.fixture
def example(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    monkeypatch.delitem(sys.modules, "one_line", raising=False)  # from wherever it was imported before
    plugins.forget()
    yield
    plugins.forget()


@pytest.fixture
def offering(tmp_path, monkeypatch):
    """Install a module with these entry points."""

    def offer(module, entry_points):
        (tmp_path / "offered.py").write_text(module)
        information = tmp_path / "offered-1.0.dist-info"
        information.mkdir()
        (information / "METADATA").write_text("Metadata-Version: 2.1\nName: offered\nVersion: 1.0\n")
        (information / "entry_points.txt").write_text(entry_points)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "offered", raising=False)
        plugins.forget()

    yield offer
    plugins.forget()


def run(*arguments):
    return CliRunner().invoke(main, list(arguments), catch_exceptions=False)


LINE = ("--data", "one_point", "--width", "1", "--alpha", "1", "--start", "balanced", "--scale", "0.1", "--seed", "1")


@pytest.mark.usefixtures("example")
def test_the_theorem_predicts_what_the_flow_does():
    net = rl.Network(inputs=1, widths=(1,), alpha=1.0)
    problem = rl.Problem(rl.datasets.make("one_point", y=2.0), net, ([[0.1]], [[0.1]]))
    told = rl.predict(problem, np.linspace(0, 5, 11))
    assert told.theorem == "one_line"
    assert rl.simulate(problem, told.times).loss == pytest.approx(told.loss, abs=1e-6)  # the flow's tolerance


@pytest.mark.usefixtures("example")
def test_the_theorem_is_diagnosed_and_refuses_like_ours():
    net = rl.Network(inputs=2, widths=(5,))
    found = rl.diagnose(rl.Problem(rl.datasets.six_points(), net, net.init(scale=1e-3, seed=0)))
    assert "one_line" in [reading.theorem.name for reading in found.theorems]
    assert found["single_line"].holds is False
    with pytest.raises(rl.HypothesisError, match="single_line is required"):
        rl.predict(found.problem, [0.0, 1.0], theorem="one_line")


@pytest.mark.usefixtures("example")
def test_the_command_line_knows_them():
    listed = json.loads(run("datasets", "--json").stdout)["datasets"]
    assert listed["one_point"] == {"options": {"x": 1.0, "y": 1.0}, "promises": []}
    told = run("predict", *LINE, "--until", "5")
    assert "one_line" in told.stdout
    assert "one_line" in run("diagnose", *LINE[1:]).stdout
    claims = json.loads(run("reproduce", "--list", "--json").stdout)
    assert claims[-1]["name"] == "one_line_course"
    assert claims[-1]["url"] == "https://arxiv.org/abs/1312.6120"


@pytest.mark.usefixtures("example")
def test_the_claim_is_measured_in_another_process_and_shown(tmp_path):
    result = run("reproduce", "one_line_course", "--jobs", "1", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    page = (tmp_path / "report.html").read_text()
    assert "One linear neuron learns along a logistic curve" in page
    assert "https://arxiv.org/abs/1312.6120" in page


@pytest.mark.usefixtures("example")
def test_a_claim_is_measured_again_when_its_own_file_changes(tmp_path, installed):
    from rectilinear.reproduce.ledger import Store

    claim = known_claims()[-1]
    store = Store(tmp_path, full=False)
    before = store.code_of(claim)
    source = installed / "one_line.py"
    text = source.read_text()
    source.write_text(text + "\n")
    assert store.code_of(claim) != before
    source.write_text(text)
    assert store.code_of(claim) == before
    assert store.code_of(known_claims()[0]) == store.code


@pytest.mark.usefixtures("example")
def test_the_measure_is_one_of_the_measures_and_a_sweep_knows_it(tmp_path):
    net = rl.Network(inputs=1, widths=(1,), alpha=1.0)
    ended = rl.simulate(rl.Problem(rl.datasets.make("one_point"), net, ([[0.1]], [[0.1]])), times=[0.0, 20.0])
    assert rl.measures.slope(ended) == pytest.approx([0.01, 1.0], abs=1e-6)
    settings = {"data": "one_point", "width": 1, "alpha": 1.0, "start": "balanced", "scale": 0.5, "seed": 1}
    table = rl.sweep(settings, {"y": [1.0, 2.0]}, "slope", folder=tmp_path / "sweep", jobs=0, run={"until": 30.0})
    assert table["slope"].values == pytest.approx([1.0, 2.0], abs=1e-6)


def test_without_other_packages_there_is_what_we_have():
    plugins.forget()
    assert known_claims() == rl.reproduce.CLAIMS
    assert known_theorems() == rl.theorems.THEOREMS
    assert rl.datasets.names() == rl.datasets.NAMES
    with pytest.raises(AttributeError, match=r"'rectilinear\.measures' has no attribute 'slope'"):
        rl.measures.slope  # noqa: B018


BROKEN = [
    ("datasets", "broken = offered:missing", "", "AttributeError: module 'offered' has no attribute 'missing'"),
    ("datasets", "broken = offered:it", "raise RuntimeError('no luck')", "RuntimeError: no luck"),
    ("datasets", "broken = offered:it", "it = 3", "expected a function, found int"),
    ("datasets", "broken = offered:it", "def it(size): ...", "its option size must have a default"),
    ("datasets", "xor = offered:it", "def it(): ...", "the name is taken"),
    ("theorems", "broken = offered:it", "it = 3", "expected Theorem, found int"),
    ("theorems", "broken = offered:it", "from rectilinear.theorems.xor import XOR as it", "it calls itself xor"),
    ("measures", "broken = offered:it", "it = 3", "int is no function"),
    ("papers", "broken = offered:it", "it = 3", "expected Paper, found int"),
    ("claims", "broken = offered:it", "it = 3", "expected Claim, found int"),
    (
        "claims",
        "trivial = offered:it",
        "from dataclasses import replace\nfrom trivial_claim import CLAIM\nit = replace(CLAIM, paper='lost')",
        "its paper lost is not among zhang, kou, phuong_lampert, simon",
    ),
]
LOOKS = {
    "datasets": lambda: rl.datasets.names(),
    "theorems": lambda: known_theorems(),
    "measures": lambda: rl.measures.plugged_in_measures(),
    "papers": lambda: rl.reproduce.papers.known_papers(),
    "claims": lambda: known_claims(),
}


@pytest.mark.parametrize(("kind", "entry", "module", "wrong"), BROKEN)
def test_what_is_broken_costs_one_sentence_once(offering, kind, entry, module, wrong):
    offering(module, f"[rectilinear.{kind}]\n{entry}\n")
    name = entry.partition(" ")[0]
    with pytest.warns(plugins.PluginWarning) as told:
        LOOKS[kind]()
    assert [str(one.message) for one in told] == [
        f"{name} in rectilinear.{kind} of offered is left out ({wrong}); mend or uninstall offered."
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LOOKS[kind]()


def test_the_command_line_says_so_and_works_on(offering):
    offering("raise RuntimeError('no luck')", "[rectilinear.datasets]\nbroken = offered:it\n")
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = run("datasets")
    assert result.exit_code == 0
    assert "six_points" in result.stdout
    assert result.stderr == (
        "Warning: broken in rectilinear.datasets of offered is left out (RuntimeError: no luck); mend or uninstall offered.\n"
    )
