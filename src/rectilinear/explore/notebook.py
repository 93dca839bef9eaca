"""The explorer in a notebook: live where anywidget is installed, a replay of one run elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from ..errors import InputError
from ..problem import Problem, require_problem
from .messages import answer_run, answer_theory, checked, read_request, refusal, welcome
from .page import module, replay_page, replay_template, style
from .state import State, state_of
from .warm import warm_up

HEIGHT = 900  # pixels of a replay


class Replay:
    """A page that replays one exact run; a notebook shows it, and `html` is the whole page."""

    def __init__(self, state: State) -> None:
        self.html = replay_page([state])

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" width="100%" height="{HEIGHT}" style="border:0"></iframe>'

    def __repr__(self) -> str:
        return f"Replay of a run, {len(self.html) / 1e3:.0f} kB of HTML; install anywidget to drag its points."


def explore(problem: Problem, until: float = 3000.0, **start: Any) -> Any:
    """Show the training run of `problem` in a notebook, with points that can be dragged where anywidget is installed.

    The data are seen in the plane: more than two inputs along their first two principal axes. The run starts from the problem's own
    weights, or from drawn ones if `start` gives their `scale`, `seed` or `start`. `rectilinear explore` opens the same in a browser.

    >>> import rectilinear as rl
    >>> net = rl.Network(inputs=2, widths=(4,))
    >>> shown = rl.explore(rl.Problem(rl.datasets.xor(), net, net.init(scale=1e-3, seed=0)), until=100.0)
    """
    require_problem("explore", problem)
    state = state_of(problem, until, **start)
    try:
        return _widget(state)
    except ImportError:
        return Replay(state)


def answer(message: object, state: State) -> list[dict[str, Any]]:
    """Every answer to one message of the page, in the order they are sent."""
    try:
        known = checked(message)
        if known["kind"] == "hello":
            return [{**welcome(state), "ready": True}]
        if known["kind"] == "page":
            return [{"kind": "page", "html": replay_template()}]
        asked = read_request(known)
        request = replace(asked, state=replace(asked.state, weights=state.weights))
    except InputError as error:
        return [refusal(None, str(error))]
    if not request.final:
        return [answer_theory(request), answer_run(request)]  # a kernel does one thing at a time: what is quick comes first
    return [answer_run(request), answer_theory(request)]


def _widget(state: State) -> Any:
    import anywidget

    warm_up()

    class Explorer(anywidget.AnyWidget):  # type: ignore[misc]
        _esm, _css = module(), style()

        def __init__(self) -> None:
            super().__init__()
            self.on_msg(self._take)

        def _take(self, widget: object, message: Mapping[str, Any], buffers: object) -> None:
            for document in answer(message, state):
                self.send(document)

    return Explorer()
