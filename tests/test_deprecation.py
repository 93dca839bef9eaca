"""Names that changed work for one release, with a warning that says the new one."""

import pytest

from rectilinear import conditions, measures
from rectilinear.deprecation import renamed
from rectilinear.reduced.class_limit import class_limit
from rectilinear.theorems import phuong_lampert


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


def test_other_names_are_missing_as_ever():
    with pytest.raises(AttributeError, match=r"^module 'rectilinear\.one' has no attribute 'two'$"):
        renamed("rectilinear.one", {})("two")
