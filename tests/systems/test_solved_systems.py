"""Every engine on every solved system, at several tolerances."""

import numpy as np
import pytest
from solved import SYSTEMS

import rectilinear as rl

ENGINES = {
    "kinks": {"method": "kinks"},
    "kinks from the start": {"method": "kinks", "early_phase": False},
    "smooth": {"method": "smooth"},
    "smooth from the start": {"method": "smooth", "early_phase": False},
}
ERROR_PER_TOLERANCE = 20.0  # local errors of rtol a step add up over some dozens of steps
ROUNDING = 1e-12
TINY = ("aligned growth, tiny start", "xor, tiny start", "early growth")  # elsewhere there is no early phase to leave out
CASES = [(name, engine) for name in SYSTEMS for engine in ENGINES if name in TINY or engine in ("kinks", "smooth")]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(("name", "engine"), CASES)
def test_engine_reproduces_the_closed_form(name, engine, rtol):
    system = SYSTEMS[name]
    times = np.linspace(0.0, system.end, 8)
    run = rl.simulate(system.problem, times, rtol=rtol, **ENGINES[engine])
    assert run.status is rl.Status.FINISHED
    assert ("early" in run.provenance["method"]) == (name in TINY and "start" not in engine)
    exact = np.array([system.outputs(t) for t in times])
    tolerance = ERROR_PER_TOLERANCE * rtol + ROUNDING
    np.testing.assert_allclose(run.outputs(), exact, rtol=0, atol=tolerance * np.abs(exact).max())
    np.testing.assert_allclose(run.loss, [system.loss(t) for t in times], rtol=0, atol=tolerance * (1 + np.abs(exact).max()))


@pytest.mark.parametrize("name", SYSTEMS)
def test_gradient_descent_approaches_the_closed_form_to_first_order(name):
    """An eighth of the step gives about an eighth of the error; where neurons slide they chatter, so that it varies by a factor."""
    system = SYSTEMS[name]
    errors = []
    for steps in (250, 2_000):
        run = rl.descend(system.problem, system.end / steps, steps, record_every=steps // 5)
        errors.append(np.abs(run.outputs() - [system.outputs(t) for t in run.times]).max())
    assert 0.0 < errors[1] < errors[0] / 3
