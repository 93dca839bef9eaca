"""A Diagnosis as one screen of text."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from math import isfinite, isinf
from typing import TYPE_CHECKING

from ..conditions.finding import VERDICTS, Finding
from ..trajectory import Status

if TYPE_CHECKING:
    from .diagnosis import Diagnosis, Outlook, Symmetry, Verification

WIDTH = 118
SHOWN = 12  # findings with a line of their own: those on data and start


def card(diagnosis: Diagnosis) -> str:
    """Findings, symmetry, theorems, outlook and advice, each in a few lines."""
    lines = [f"Diagnosis of {repr(diagnosis.problem).removeprefix('Problem: ')}"]
    lines += [
        f"  {VERDICTS[finding.holds]:<10}{name:<23}{_short(finding.sentence)}"
        for name, finding in list(diagnosis.findings.items())[:SHOWN]
    ]
    others = list(diagnosis.findings.values())[SHOWN:]
    rows = [
        *((f"also {VERDICTS[holds]}", _names(others, holds)) for holds in VERDICTS if _names(others, holds)),
        ("symmetry", symmetry_sentence(diagnosis.symmetry)),
        ("budget", repr(diagnosis.budget).removeprefix("Budget: ")),
        (
            "theorems",
            ", ".join(reading.theorem.name for reading in diagnosis.applicable) or "none of those known here applies",
        ),
        ("next", outlook_sentence(diagnosis.outlook)),
        *(("warning", text) for text in diagnosis.warnings),
        *(("try", str(suggestion)) for suggestion in diagnosis.suggestions),
    ]
    if diagnosis.verified is not None:
        rows.append(("verified", verification_sentence(diagnosis.verified)))
    for name, text in rows:
        lines += textwrap.wrap(f"{name:<10}{text}", WIDTH, initial_indent="  ", subsequent_indent=" " * 12)
    return "\n".join(lines)


def symmetry_sentence(symmetry: Symmetry) -> str:
    """How far the data are from Condition 3, in one or two sentences."""
    if symmetry.is_exact:
        how = f"to {symmetry.distance:.2g}" if symmetry.distance else "exactly"
        return f"even inputs with an odd target, {how} (Condition 3)."
    bound = "" if symmetry.distance_is_exact else "at most "
    return (
        f"{bound}{100 * symmetry.distance:.3g} % away from even inputs with an odd target; {100 * symmetry.unpaired:.3g} % of the "
        f"samples have no mirror image within {100 * symmetry.tolerance:g} %; could the population be even: p = {symmetry.even_p:.2g}, "
        f"with an odd target: p = {symmetry.odd_p:.2g}."
    )


def outlook_sentence(outlook: Outlook) -> str:
    """First drop, plateau and end, as far as they are predicted."""
    parts = []
    when = "" if outlook.first_drop is None else f" around t = {outlook.first_drop:.4g}"
    if outlook.prediction is not None and when:
        parts.append(f"the loss falls{when}")
    if (plateau := outlook.plateau) is not None:
        parts.append(f"expect it to sit near {plateau.height:.4g} {_stay(plateau.duration)}")
    parts.append(f"it ends at: {outlook.ending}")
    if outlook.effective_rank is not None:
        parts.append(f"effective rank {outlook.effective_rank:.3g}")
    sentence = "; ".join(parts) + "."
    if (mirrored := outlook.mirrored) is None:
        return sentence
    return f"with mirror images (-x, -y) the loss would fall to {mirrored.loss[-1]:.4g}{when}. As the data are: {sentence}"


def _stay(duration: float) -> str:
    if isfinite(duration):
        return f"for about {duration:.3g} time units"
    return "for good" if isinf(duration) else "for a time that is not predicted"


def verification_sentence(verified: Verification) -> str:
    """Prediction against simulation, quantity by quantity."""
    run = verified.run
    sentences = [f"{name} {predicted:.4g} predicted, {seen:.4g} simulated" for name, predicted, seen in verified.rows]
    if not sentences:
        sentences = [f"nothing was predicted; the simulated loss ends at {run.loss[-1]:.4g} (t = {run.times[-1]:.4g})"]
    if run.status is not Status.FINISHED:
        sentences.append(f"the simulation {run.ended}")
    return "; ".join(sentences) + "."


def _names(findings: Iterable[Finding], holds: bool | None) -> str:
    return ", ".join(finding.name for finding in findings if finding.holds is holds)


def _short(sentence: str) -> str:
    return textwrap.shorten(sentence, WIDTH - 35, placeholder=" ...")
