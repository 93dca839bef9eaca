"""Messages of the page and their answers: pure functions that know neither sockets nor processes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import InputError, RectilinearError
from ..losses import LOSSES
from ..starts import STARTS
from .documents import Document, Progress, glance_document, run_document, theory_document
from .presets import presets
from .state import DEEPEST, MOST_POINTS, OWN, WIDEST, WIDEST_DEEP, State, read_state

LARGEST_MESSAGE = 65_536  # bytes
KINDS = ("hello", "run", "page")
FIELDS = {"hello": {"kind", "token"}, "run": {"kind", "id", "state", "final"}, "page": {"kind"}}
LARGEST_ID = 2**53  # whole numbers that a page can count to


@dataclass(frozen=True)
class Request:
    """A checked message of the page that asks for a run of `state`, to full accuracy if `final`."""

    number: int
    state: State
    final: bool = True


Answer = Callable[[Request, Progress | None], Document]


def read_message(text: str | bytes) -> Mapping[str, Any]:
    """The message in a text, with a known kind and no field that this kind does not have.

    >>> read_message('{"kind": "hello", "token": "abc"}')["kind"]
    'hello'
    """
    if isinstance(text, bytes) or len(text.encode()) > LARGEST_MESSAGE:
        raise InputError(f"a message must be a text of at most {LARGEST_MESSAGE} bytes, found {_size(text)}.")
    try:
        message = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise InputError(f"a message must be JSON text ({type(error).__name__}).") from error
    return checked(message)


def checked(message: object) -> Mapping[str, Any]:
    """The message, if it has a known kind and that kind's fields alone."""
    if not isinstance(message, Mapping) or message.get("kind") not in KINDS:
        raise InputError(f"a message must be an object whose kind is one of {', '.join(KINDS)}.")
    unknown = [name for name in message if name not in FIELDS[message["kind"]]]
    if unknown:
        raise InputError(f"a {message['kind']} message must have no field {str(unknown[0])[:40]!r}.")
    return message


def read_request(message: Mapping[str, Any]) -> Request:
    """The request in a `run` message."""
    number, final = message.get("id"), message.get("final", True)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= LARGEST_ID:
        raise InputError(f"id must be a whole number from 0 to {LARGEST_ID}, found {repr(number)[:40]}.")
    if not isinstance(final, bool):
        raise InputError(f"final must be true or false, found {repr(final)[:40]}.")
    return Request(number, read_state(message.get("state")), final)


def welcome(state: State | None = None) -> Document:
    """The first message to a page: what it may offer; it opens with the first of `presets` unless its address names another."""
    offered = presets() if state is None else (state, *presets())
    own = [] if state is None or state.weights is None else [OWN]
    return {
        "kind": "welcome",
        "presets": [preset.to_json() for preset in offered],
        "choices": {"start": [*STARTS, *own], "loss": list(LOSSES)},
        "bounds": {"points": MOST_POINTS, "width": WIDEST, "depth": DEEPEST, "width_deep": WIDEST_DEEP},
    }


def answer_run(request: Request, progress: Progress | None = None) -> Document:
    """The exact run that was asked for, or a sentence why there is none."""
    return _answered(request, lambda: run_document(request.state, request.final, progress))


def answer_theory(request: Request, progress: Progress | None = None) -> Document:
    """What theory says of the run that was asked for; at a glance while something is dragged."""
    if not request.final:
        return _answered(request, lambda: glance_document(request.state))
    return _answered(request, lambda: theory_document(request.state, progress))


def refusal(number: int | None, sentence: str) -> Document:
    """What the page shows where something cannot be done."""
    return {"kind": "error", "id": number, "text": sentence}


def _answered(request: Request, make: Callable[[], Document]) -> Document:
    try:
        return {**make(), "id": request.number}
    except (RectilinearError, ArithmeticError, MemoryError) as error:
        return refusal(request.number, str(error))


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _size(text: str | bytes) -> str:
    return "binary data" if isinstance(text, bytes) else f"{len(text.encode())}"
