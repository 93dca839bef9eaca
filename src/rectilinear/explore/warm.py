"""Compiling ahead, so that no run of the page is cut short by a compiler: budgets of seconds count it."""

from __future__ import annotations

from functools import cache

from .messages import Answer, Request, answer_run
from .presets import small_runs

GOES = 10  # at compiling what a run needs, each cut short by its budget


@cache
def warm_up(answer: Answer = answer_run) -> None:
    """Run small problems of every kind until none is cut short; a second where everything was compiled before."""
    for state in small_runs():
        for _ in range(GOES):
            if answer(Request(0, state, final=False), None).get("status") != "OUT_OF_SECONDS":
                break
