"""The one door to the integrator: states at times, the time of an event, and what it says when it stops."""

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.reduced import integrate as door
from rectilinear.reduced.integrate import integrate, integrate_until


def turning(_, state):
    return np.array([state[1], -state[0]])


def test_states_at_times_that_may_repeat():
    times = np.array([0.5, 0.5, 2.0])
    expected = np.stack([np.sin(times), np.cos(times)], axis=1)
    np.testing.assert_allclose(integrate(turning, np.array([0.0, 1.0]), times), expected, rtol=0, atol=1e-10)


def test_nothing_to_do():
    start = np.array([1.0, 2.0])
    np.testing.assert_array_equal(integrate(turning, start, np.array([0.0])), start[None])
    assert integrate(turning, np.empty(0), np.array([0.0, 1.0])).shape == (2, 0)


def test_the_time_at_which_a_distance_is_zero():
    time, state = integrate_until(turning, np.array([0.0, 1.0]), lambda state: state[1], longest=10.0)
    assert time == pytest.approx(np.pi / 2, abs=1e-9)
    np.testing.assert_allclose(state, [1.0, 0.0], rtol=0, atol=1e-9)
    assert integrate_until(turning, np.array([0.0, 1.0]), lambda state: 2.0 + state[1], longest=10.0)[0] == np.inf


def test_it_says_so_when_it_stops(monkeypatch):
    monkeypatch.setattr(door, "MAX_STEPS", 2)
    text = r"^the reduced flow must be followed to t = 1000, but the integrator stopped before; simulate instead\.$"
    with pytest.raises(rl.FlowError, match=text):
        integrate(turning, np.array([0.0, 1.0]), np.array([1000.0]))
    with pytest.raises(rl.FlowError, match=text):
        integrate(lambda _, state: np.full(1, np.nan), np.ones(1), np.array([1000.0]))
