"""Names that changed work for one release, with a warning that says the new one."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear import conditions, measures
from rectilinear.deprecation import renamed
from rectilinear.reduced.class_limit import class_limit
from rectilinear.theorems import named_theorem, phuong_lampert


@pytest.mark.parametrize(
    ("module", "old", "found", "new"),
    [
        (conditions, "alignment", conditions.nearest_aligned, "rectilinear.conditions.nearest_aligned"),
        (phuong_lampert, "approach", measures.approach, "rectilinear.measures.limit_distance.approach"),
        (phuong_lampert, "class_limit", class_limit, "rectilinear.reduced.class_limit.class_limit"),
    ],
)
def test_old_names_of_functions(module, old, found, new):
    text = f"^{module.__name__}.{old} is called {new} now; the old name works in this release only.$"
    with pytest.warns(DeprecationWarning, match=text) as caught:
        assert getattr(module, old) is found
    assert caught[0].filename == __file__


def test_old_names_of_methods():
    network = rl.Network(2, (8,))
    problem = rl.Problem(rl.datasets.six_points(delta=0.0), network, network.init(1e-3, seed=0))
    times = np.array([0.0, 5.0])
    theorem = named_theorem("two_neurons")
    with pytest.warns(DeprecationWarning, match=r"^Theorem\.foretell is called Theorem\.prediction now; ") as caught:
        old = theorem.foretell(problem, times, theorem.findings(problem, times))
    np.testing.assert_array_equal(old.loss, rl.predict(problem, times, theorem="two_neurons").loss)
    comparison = rl.compare(old, rl.simulate(problem, times))
    with pytest.warns(DeprecationWarning, match=r"^Comparison\.parts_at is called Comparison\.diverges_at now; ") as again:
        assert comparison.parts_at(1e-30) == comparison.diverges_at(1e-30)
    assert {caught[0].filename, again[0].filename} == {__file__}


def test_the_old_name_of_holds():
    with pytest.warns(DeprecationWarning, match=r"^Kind\.PIN is called Kind\.HOLD now; ") as caught:
        assert rl.Kind.PIN is rl.Kind.HOLD
    with pytest.warns(DeprecationWarning, match=r"^Kind\['PIN'\] is called Kind\['HOLD'\] now; ") as again:
        assert rl.Kind["PIN"] is rl.Kind.HOLD
    assert {caught[0].filename, again[0].filename} == {__file__}
    assert [kind.name for kind in rl.Kind] == ["CROSS", "HOLD", "RELEASE", "DEATH", "ORIGIN", "FORK"]
    with pytest.raises(AttributeError, match="has no attribute 'PINS'"):
        _ = rl.Kind.PINS


def test_files_with_holds_of_before_load(tmp_path):
    """Files keep the number of a kind, which has not changed."""
    network = rl.Network(2, (20,))
    run = rl.simulate(rl.Problem(rl.datasets.six_points(), network, network.init(1e-3, seed=0)), [0.0, 40.0])
    assert run.events.count(rl.Kind(1)) == run.events.count(rl.Kind.HOLD) > 0
    loaded = rl.load(run.save(tmp_path / "run.nc"))
    np.testing.assert_array_equal(loaded.events.kind, run.events.kind)


def test_other_names_are_missing_as_ever():
    with pytest.raises(AttributeError, match=r"^module 'rectilinear\.one' has no attribute 'two'$"):
        renamed("rectilinear.one", {})("two")
