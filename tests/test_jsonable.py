"""One dialect of JSON for everything that is printed or stored."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.jsonable import json_text, jsonable, number_from
from rectilinear.studies.study import Study

NESTED = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def strict(text):
    """The contents of a text that must be strict JSON."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def with_null(value):
    """The obvious twin: what is not a finite number is None."""
    if isinstance(value, dict):
        return {key: with_null(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_null(entry) for entry in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@given(NESTED)
def test_every_nest_of_values_is_strict_json(value):
    assert strict(json_text(value)) == with_null(value)


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.float64(0.5), 0.5),
        (np.float32(np.inf), None),
        (np.int8(3), 3),
        (np.bool_(True), True),
        (np.array([[1.0, np.nan]]), [[1.0, None]]),
        (np.array(2.5), 2.5),
        ((1, (2.0, None)), [1, [2.0, None]]),
        ({1: -np.inf}, {"1": None}),
    ],
)
def test_numpy_numbers_and_arrays_become_plain(value, plain):
    assert jsonable(value) == plain


def test_what_json_cannot_hold_is_refused():
    with pytest.raises(TypeError, match=r"^results must be numbers, texts, lists and mappings of them, found complex$"):
        jsonable([1j])


def test_null_is_read_as_nan_and_texts_of_earlier_versions_as_numbers():
    assert math.isnan(number_from(None))
    assert (number_from("-inf"), number_from(3)) == (-math.inf, 3.0)


def test_results_of_every_kind_speak_it():
    network = rl.Network(2, (4,))
    start = network.init(1e-3, seed=0)
    problem = rl.Problem(rl.datasets.six_points(delta=0.0), network, start)
    study = Study("one", "why?", "here", "so.", {"values": (("n",), np.array([1.0, np.inf]))}, draw=lambda: None)
    texts = {
        "diagnosis": rl.diagnose(problem).to_json(),
        "prediction": rl.predict(problem, [0.0, np.inf]).to_json(),
        "linearity": rl.linearity(lambda x: np.zeros(len(x)), problem.data.x).to_json(),
        "study": json_text(study.to_json()),
    }
    contents = {name: strict(text) for name, text in texts.items()}
    assert contents["prediction"]["times"] == [0.0, None]
    assert contents["linearity"]["r_squared"] == {"value": None, "low": None, "high": None}
    assert contents["study"]["numbers"] == {"values": [1.0, None]}
    assert contents["diagnosis"]["findings"]["separable"]["direction"] == "above"
