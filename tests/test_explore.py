"""The explorer's messages and documents: pure functions, message in, document out."""

from __future__ import annotations

import json
import re
import socket
import sys
import types
from base64 import b64decode
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import rectilinear as rl
from rectilinear.cli import main
from rectilinear.errors import InputError
from rectilinear.explore import notebook
from rectilinear.explore.documents import MOST_EVENTS, code_for, glance_document, run_document, theory_document
from rectilinear.explore.messages import (
    LARGEST_MESSAGE,
    Request,
    answer_run,
    answer_theory,
    read_message,
    read_request,
    welcome,
)
from rectilinear.explore.page import DOCUMENTS, filled, module, replay_page, replay_template
from rectilinear.explore.presets import presets
from rectilinear.explore.state import DEEPEST, LONGEST_TEXT, MOST_POINTS, WIDEST, State, plane_of, read_state, state_of
from rectilinear.explore.warm import warm_up

QUICK = State(points=((1.0, 0.0, 1.0), (-1.0, 0.1, -1.0)), width=4, until=30.0)
POINT = [[1.0, 0.0, 1.0]]


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Budgets count compiling."""
    warm_up()


def numbers(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(b64decode(text), dtype="<f4").reshape(shape)


states = st.builds(
    State,
    points=st.lists(st.tuples(*[st.floats(-100, 100)] * 3), min_size=1, max_size=MOST_POINTS).map(tuple),
    width=st.integers(1, 30),
    depth=st.integers(1, DEEPEST),
    alpha=st.floats(0, 1),
    scale=st.floats(1e-12, 10),
    start=st.sampled_from(["gaussian", "balanced"]),
    seed=st.integers(0, 2**31 - 1),
    loss=st.sampled_from(["square", "logistic"]),
    until=st.floats(1e-3, 1e7),
    name=st.text(max_size=LONGEST_TEXT),
    note=st.text(max_size=LONGEST_TEXT),
)


@given(state=states)
def test_a_state_survives_the_wire(state: State) -> None:
    assert read_state(json.loads(json.dumps(state.to_json()))) == state


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["points", "width", "kind", "x"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(value=anything)
def test_whatever_comes_is_read_or_refused_with_a_sentence(value: Any) -> None:
    for read in (lambda: read_state(value), lambda: read_message(json.dumps(value, allow_nan=True))):
        with suppress(InputError):  # any other exception fails the test
            read()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"points": []}, f"points must be a list of 1 to {MOST_POINTS} points, found 0."),
        ({"points": POINT * (MOST_POINTS + 1)}, f"found {MOST_POINTS + 1}"),
        ({"points": "x"}, "points must be a list of 1 to"),
        ({"points": [[1, 2]]}, "a point must be [x1, x2, y], found [1, 2]."),
        ({"points": [[1, 2, 1e9]]}, "y must be a number from -100 to 100, found 1000000000.0."),
        ({"points": [[1, float("nan"), 1]]}, "x2 must be a number from -100 to 100, found nan."),
        ({"points": [[True, 0, 1]]}, "x1 must be a number from -100 to 100, found True."),
        ({"width": 0}, f"width must be a whole number from 1 to {WIDEST}, found 0."),
        ({"width": WIDEST + 1}, "found 501"),
        ({"width": 2.5}, "width must be a whole number"),
        (
            {"depth": 2, "width": 31},
            "width must be at most 30 with several hidden layers, found 31; take a narrower network.",
        ),
        ({"depth": DEEPEST + 1}, "depth must be a whole number from 1 to 3, found 4."),
        ({"alpha": 1.5}, "alpha must be a number from 0 to 1, found 1.5."),
        ({"scale": 0}, "scale must be a number from 1e-12 to 10, found 0."),
        ({"seed": -1}, "seed must be a whole number from 0 to 2147483647, found -1."),
        ({"start": "warm"}, "start must be one of gaussian, balanced,"),
        ({"loss": ["square"]}, "loss must be one of square, logistic, exponential, found ['square']."),
        ({"until": 1e9}, "until must lie above 0 and at most 1e+07, found 1e+09."),
        ({"until": 0}, "until must lie above 0"),
        ({"far": 1}, "far must be true or false, found 1."),
        ({"far": True}, "far times need a logistic or exponential loss and one hidden layer"),
        ({"name": "x" * (LONGEST_TEXT + 1)}, "name must be a text of at most 300 characters"),
        ({"file": "/etc/passwd"}, "a state's fields must be among points, width,"),
    ],
)
def test_states_out_of_bounds_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read_state({"points": POINT, **changed})


def test_a_state_must_be_an_object_with_points() -> None:
    with pytest.raises(InputError, match=r"a state must be an object with named fields, found list."):
        read_state([])
    with pytest.raises(InputError, match=r"a state must have points, found none"):
        read_state({})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"{}", "a message must be a text of at most 65536 bytes, found binary data."),
        ("x" * (LARGEST_MESSAGE + 1), "found 65537."),
        ("{", "a message must be JSON text (JSONDecodeError)."),
        ("[" * 50_000, "a message must be JSON text (RecursionError)."),
        ('{"kind": NaN}', "a message must be JSON text (ValueError)."),
        ("[]", "a message must be an object whose kind is one of hello, run, page."),
        ('{"kind": "eval"}', "kind is one of hello, run, page."),
        ('{"kind": "run", "path": "x"}', "a run message must have no field 'path'."),
    ],
)
def test_messages_that_cannot_be_read_are_refused(text: str | bytes, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read_message(text)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"id": -1}, "id must be a whole number from 0 to 9007199254740992, found -1."),
        ({"id": True}, "found True."),
        ({"id": 1, "final": "yes"}, "final must be true or false, found 'yes'."),
    ],
)
def test_requests_are_checked_field_by_field(message: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read_request({"kind": "run", "state": QUICK.to_json(), **message})


def test_a_run_is_told_as_it_was_simulated() -> None:
    document = run_document(QUICK)
    run = rl.simulate(QUICK.problem(), document["clock"], rtol=1e-9)
    assert document["complete"]
    assert document["loss"] == run.loss.tolist()
    frames = len(run)
    assert np.array_equal(numbers(document["first"], frames, 4, 2), run.weights[0].astype("f4"))
    assert np.array_equal(numbers(document["second"], frames, 4), run.weights[1][:, 0].astype("f4"))
    assert len(document["events"]) == len(run.events)
    json.dumps(document, allow_nan=False)


def test_events_name_the_kink_they_happen_at() -> None:
    document = run_document(presets()[0], final=False)
    points = np.array(document["state"]["points"])
    directions = points[:, :2] / np.linalg.norm(points[:, :2], axis=1, keepdims=True)
    for _, _, kink, kind in document["events"]:
        if kind in ("cross", "hold", "release"):
            assert np.abs(np.abs(directions @ kink) - 1.0).min() < 1e-5
    assert {"cross", "hold", "release"} <= {event[3] for event in document["events"]}
    assert len(document["events"]) <= MOST_EVENTS


def test_a_deep_run_tells_its_output_around_the_circle() -> None:
    state = State(points=QUICK.points, width=3, depth=2, scale=1.0, until=2.0)
    document = run_document(state)
    run = rl.simulate(state.problem(), document["clock"], rtol=1e-9)
    frames = len(run)
    around = numbers(document["field"], frames, 360)
    quarter = run.outputs([[0.0, 1.0]])[:, 0]
    assert np.allclose(around[:, 90], quarter, rtol=1e-5, atol=1e-7)
    product = run.weights[2] @ run.weights[1]
    assert np.allclose(numbers(document["second"], frames, 3), product[:, 0], rtol=1e-6)


def test_a_far_run_is_kept_in_log_time() -> None:
    state = next(state for state in presets() if state.far)
    document = run_document(state, final=False)
    assert document["clock"][0] is None  # the start, at log10 t = -infinity
    assert document["clock"][-1] == 1e6
    assert document["log_loss"][-1] < -2e6
    assert document["loss"][-1] == 0.0


def test_budgets_end_a_run_and_what_there_is_is_told() -> None:
    def interrupt(fraction: float, note: str) -> None:
        raise KeyboardInterrupt

    deep = next(state for state in presets() if state.depth > 1)
    document = run_document(deep, progress=interrupt)
    assert document["status"] == "INTERRUPTED"
    assert not document["complete"]
    assert len(document["loss"]) == len(document["clock"]) >= 1


def test_theory_has_every_hypothesis_with_its_value_and_the_theorems_it_serves() -> None:
    document = theory_document(presets()[0])
    found = rl.diagnose(presets()[0].problem())
    assert [finding["name"] for finding in document["findings"]] == list(found.findings)
    assert [theorem["name"] for theorem in document["theorems"]] == ["perturbed_symmetry"]
    assert document["plateau"]["height"] == pytest.approx(found.outlook.plateau.height)
    assert document["curve"]["theorem"] == "perturbed_symmetry"
    small = next(finding for finding in document["findings"] if finding["name"] == "small_start")
    assert small["holds"]
    assert small["serves"]
    json.dumps(document, allow_nan=False)


def test_theory_and_run_agree_where_a_theorem_applies() -> None:
    state = next(state for state in presets() if "Figure 1" in state.name)
    told, run = theory_document(state), run_document(state)
    assert told["curve"]["clock"] == pytest.approx(run["clock"])
    assert np.abs(np.array(told["curve"]["loss"]) - run["loss"]).max() < 1e-6 * run["loss"][0]


@pytest.mark.parametrize("state", presets(), ids=lambda state: state.name)
def test_code_of_every_preset_repeats_its_problem(state: State) -> None:
    names: dict[str, Any] = {}
    lines = [line for line in code_for(state).splitlines() if "simulate" not in line and "print" not in line]
    exec("\n".join(lines), names)
    ours, repeated = state.problem(), names["problem"]
    assert np.array_equal(ours.data.x, repeated.data.x)
    assert np.array_equal(ours.y, repeated.y)
    assert all(np.array_equal(a, b) for a, b in zip(ours.weights, repeated.weights, strict=True))


def test_code_repeats_the_run() -> None:
    names: dict[str, Any] = {"print": lambda value: None}
    exec(code_for(QUICK), names)
    assert names["run"].loss.tolist() == run_document(QUICK)["loss"]


def test_what_the_problem_refuses_is_answered_with_its_sentence() -> None:
    odd = State(points=((1.0, 0.0, 0.5),), loss="logistic")
    for answer in (answer_run, answer_theory):
        document = answer(Request(7, odd))
        assert document["kind"] == "error"
        assert document["id"] == 7
        assert "labels must be -1 or +1" in document["text"]


def test_presets_are_states_that_the_page_may_send_back() -> None:
    for preset in welcome()["presets"]:
        assert read_state(json.loads(json.dumps(preset))).name == preset["name"]


def test_data_of_more_inputs_are_seen_along_principal_axes_and_the_note_says_so() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((80, 2)) @ np.array([[3.0, 0.0, 4.0], [0.0, 2.0, 0.0]])
    data = rl.Dataset(x, np.sign(x[:, 0]))
    axes, note = plane_of(data)
    plane = data.x @ axes.T
    assert np.allclose(plane @ plane.T, x @ x.T)  # two dimensions hold all of these data
    assert note == "3 inputs, seen along their first two principal axes (100 % of their size)."
    network = rl.Network(3, (7,))
    state = state_of(rl.Problem(data, network, network.init(1e-3, 0)))
    assert len(state.points) == MOST_POINTS
    assert "The first 60 of 80 samples are shown." in state.note
    assert state.width == 7


def test_one_input_gets_a_second_that_is_zero_and_large_data_are_divided() -> None:
    data = rl.Dataset([[500.0], [-500.0]], [1.0, -1.0])
    network = rl.Network(1, (4,))
    state = state_of(rl.Problem(data, network, network.init(1e-3, 0)))
    assert state.points == ((100.0, 0.0, 0.2), (-100.0, 0.0, -0.2))
    assert state.note == "One input; the second coordinate is zero. Divided by 5, to fit the page."


def test_a_problem_is_shown_from_its_own_start() -> None:
    network = rl.Network(2, (3,))
    weights = (np.array([[0.1, 0.2], [-0.3, 0.1], [0.05, -0.2]]), np.array([[0.2, -0.1, 0.3]]))
    state = state_of(rl.Problem(rl.datasets.xor(), network, weights), until=5.0)
    document = run_document(state)
    assert document["state"]["start"] == "own"
    frames = len(document["clock"])
    assert np.allclose(numbers(document["first"], frames, 3, 2)[0], weights[0], rtol=1e-6)
    run = rl.simulate(rl.Problem(rl.datasets.xor(), network, weights), document["clock"], rtol=1e-9)
    assert np.allclose(document["loss"], run.loss, rtol=1e-12)
    assert "own" in welcome(state)["choices"]["start"]
    assert "own" not in welcome()["choices"]["start"]
    scope: dict[str, Any] = {}
    exec(document["code"].replace("print(", "str("), scope)
    assert np.allclose(scope["run"].loss, document["loss"], rtol=1e-12)
    other = notebook.answer({"kind": "run", "id": 1, "state": {**state.to_json(), "width": 4}}, state)
    assert other[0]["text"] == "the start 'own' belongs to another network; choose one that is drawn."
    assert notebook.answer({"kind": "run", "id": 1, "state": state.to_json()}, state)[0]["loss"] == document["loss"]


def test_what_the_page_cannot_hold_of_a_problem_is_said() -> None:
    network = rl.Network(3, (600,), trainable=(True, False))
    data = rl.Dataset([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, -1.0])
    state = state_of(rl.Problem(data, network, network.init(0.1, 0)))
    assert state.start == "gaussian"
    assert state.note.endswith(
        "Here all layers train, without weight decay. Starting weights are drawn anew: the page cannot hold those of the problem."
    )
    alone, small = rl.Dataset([[3.0, 0.0, 4.0]], [1.0]), rl.Network(3, (2,))
    ((x1, x2, _),) = state_of(rl.Problem(alone, small, small.init(0.1, 0))).points
    assert (abs(x1), x2) == (pytest.approx(5.0), 0.0)


def test_the_module_is_one_file_with_one_export() -> None:
    text = module()
    assert not re.search(r"^import ", text, flags=re.MULTILINE)
    assert re.findall(r"^export .*$", text, flags=re.MULTILINE) == ["export default { render };"]
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("https:", "")


def test_a_replay_page_holds_its_runs_and_no_text_can_end_its_script() -> None:
    nasty = State(points=QUICK.points, width=4, until=30.0, name="</script><script>alert(1)</script>")
    page = replay_page([nasty])
    assert "alert(1)</script>" not in page
    held = re.search(r'id="documents">(.*?)</script>', page, flags=re.DOTALL)
    assert held is not None
    first, run, theory = json.loads(held.group(1))
    assert first["replay"]
    assert run["state"]["name"] == nasty.name
    assert theory["kind"] == "theory"
    assert DOCUMENTS in replay_template()
    assert "default-src 'none'" in page
    assert filled([], []).count("<script") == 2


def test_a_notebook_without_anywidget_shows_a_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    shown = rl.explore(QUICK.problem(), until=30.0, seed=3)
    assert isinstance(shown, notebook.Replay)
    assert repr(shown).startswith("Replay of a run, ")
    assert shown._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_a_notebook_with_anywidget_answers_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    class AnyWidget:
        def __init__(self) -> None:
            self.sent: list[dict[str, Any]] = []

        def on_msg(self, take: Any) -> None:
            self.take = take

        def send(self, document: dict[str, Any]) -> None:
            self.sent.append(document)

    monkeypatch.setitem(sys.modules, "anywidget", types.SimpleNamespace(AnyWidget=AnyWidget))
    shown = rl.explore(QUICK.problem(), until=30.0)
    assert "export default { render };" in shown._esm
    for message in ({"kind": "hello"}, {"kind": "run", "id": 1, "state": QUICK.to_json()}, {"kind": "page"}, {"kind": "rm"}):
        shown.take(shown, message, [])
    assert [document["kind"] for document in shown.sent] == ["welcome", "run", "theory", "page", "error"]


def test_export_writes_one_page(tmp_path: Any) -> None:
    path = tmp_path / "page.html"
    result = CliRunner().invoke(main, ["explore", "six_points", "--set", "delta=0", "--export", str(path), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"page": str(path)}
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--export", "no/such/folder/page.html"], "--export no/such/folder/page.html: no such folder to write in"),
        (["--host", "example.com"], "--host must be localhost or an IP address, found 'example.com'."),
        (["--host", "0.0.0.0", "--expose"], "--host must be one address that pages can name, found 0.0.0.0"),
        (["--host", "192.0.2.1"], "--host 192.0.2.1 lets other machines in; add --expose if that is meant."),
        (["--port", "99999"], "99999 is not in the range 0<=x<=65535."),
        (["nowhere"], "the data must be a file ("),
    ],
)
def test_the_command_refuses_with_a_sentence(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(main, ["explore", "--no-browser", *arguments])
    assert result.exit_code == 2
    assert said in result.output


def test_a_port_in_use_is_refused_with_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = CliRunner().invoke(main, ["explore", "--no-browser", "--port", str(port)])
    assert result.exit_code == 2
    assert f"--port {port} of 127.0.0.1 cannot be used" in result.output
    assert "choose another, or 0 for any." in result.output


def test_without_websockets_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "rectilinear.explore.server", raising=False)
    monkeypatch.setitem(sys.modules, "websockets", None)
    monkeypatch.setitem(sys.modules, "websockets.asyncio.server", None)
    result = CliRunner().invoke(main, ["explore", "--no-browser"])
    assert result.exit_code == 2
    assert "explore needs the package websockets, found none; pip install 'rectilinear[explore]'." in result.output


def test_a_glance_is_the_two_neuron_prediction_of_the_mirrored_data() -> None:
    state = presets()[0]
    problem = state.problem()
    twin = rl.Problem(problem.data.symmetrised(), problem.network, problem.weights)
    told = glance_document(state)["curve"]
    exact = rl.simulate(twin, told["clock"], rtol=1e-9)
    assert np.abs(np.array(told["loss"]) - exact.loss).max() < 1e-3 * exact.loss[0]
    assert told["mirrored"]


@pytest.mark.parametrize("name", ["To t = 10^1,000,000", "XOR", "A deep network"])
def test_a_glance_says_nothing_where_there_is_no_linear_part_to_learn_first(name: str) -> None:
    state = next(known for known in presets() if known.name == name)
    assert glance_document(state)["curve"] is None
