"""The page itself: its files, served or put together into one that replays runs without a server."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files

from .documents import Document, run_document, theory_document
from .messages import welcome
from .state import State
from .warm import warm_up

PARTS = ("marks", "state", "plane", "curve", "panels", "paste", "tour", "keep", "explorer")  # of the one ES module, in order
DOCUMENTS = "/*documents*/null"  # where a replaying page holds its runs


def _text(name: str) -> str:
    return (files(__package__) / "page" / name).read_text(encoding="utf-8")


@cache
def module() -> str:
    """The explorer as one ES module: its parts, without the imports from each other.

    >>> module().count("export default")
    1
    """
    parts = [re.sub(r"^import .*\n", "", _text(f"{part}.js"), flags=re.MULTILINE) for part in PARTS]
    return "\n".join(re.sub(r"^export (?!default)", "", part, flags=re.MULTILINE) for part in parts)


@cache
def style() -> str:
    """The style sheet."""
    return _text("explorer.css")


@cache
def replay_template() -> str:
    """A page with everything but its runs; it asks nothing of any network."""
    script = module().replace("export default", "const explorer =") + _text("replay.js")
    return _text("replay.html").replace("/*style*/", style()).replace("/*script*/", script)


def replay_page(states: Sequence[State]) -> str:
    """One self-contained page that replays the exact runs of these states."""
    warm_up()
    documents = [document for state in states for document in (run_document(state), theory_document(state))]
    return filled(documents, states)


def filled(documents: Sequence[Document], states: Sequence[State]) -> str:
    """The template with documents, none of whose texts can end the script they stand in."""
    first = {**welcome(), "presets": [state.to_json() for state in states], "replay": True}
    contents = json.dumps([first, *documents], allow_nan=False).replace("<", "\\u003c")
    return replay_template().replace(DOCUMENTS, contents, 1)  # the script names the place as well, later on


FILES: dict[str, tuple[str, Callable[[], str]]] = {
    "/": ("text/html", lambda: _text("index.html")),
    "/explorer.js": ("text/javascript", module),
    "/live.js": ("text/javascript", lambda: _text("live.js")),
    "/explorer.css": ("text/css", style),
    "/icon.svg": ("image/svg+xml", lambda: _text("icon.svg")),
}
