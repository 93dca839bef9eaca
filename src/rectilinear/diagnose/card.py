"""A Diagnosis as one screen of text."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable
from math import isfinite, isinf, isnan
from typing import TYPE_CHECKING

from ..conditions.finding import VERDICTS, Finding
from ..conditions.population import p_words
from ..prediction import THEOREM
from ..trajectory import Status
from .look_ahead import how_sure
from .look_ahead import sentence as ahead_sentence

if TYPE_CHECKING:
    from .diagnosis import Diagnosis, Outlook, Symmetry, Verification

WIDTH, NARROWEST = 118, 60
SHOWN = 12  # findings with a line of their own: those on data and start
NAME = 16  # columns for the name of a row
TOGETHER = "\N{NO-BREAK SPACE}"  # between a number and its unit or sign, while lines are broken


def card(diagnosis: Diagnosis) -> str:
    """The answer first (what will happen, how sure, what to do), then what it rests on."""
    outlook = diagnosis.outlook
    data, findings = diagnosis.problem.data, list(diagnosis.findings.items())
    answer = [
        ("next", next_sentence(outlook)),
        ("how sure", certainty(diagnosis)),
        *(("try", str(suggestion)) for suggestion in diagnosis.suggestions),
        *(("warning", text) for text in diagnosis.warnings),
    ]
    if diagnosis.verified is not None:
        answer.append(("verified", verification_sentence(diagnosis.verified)))
    reasons = [
        *((VERDICTS[finding.holds], f"{name}: {finding.sentence}") for name, finding in findings[:SHOWN]),
        *(
            (f"also {VERDICTS[holds]}", _names(findings[SHOWN:], holds))
            for holds in VERDICTS
            if _names(findings[SHOWN:], holds)
        ),
        ("symmetry", symmetry_sentence(diagnosis.symmetry)),
        ("budget", repr(diagnosis.budget).removeprefix("Budget: ")),
        ("theorems", ", ".join(reading.theorem.name for reading in diagnosis.applicable) or "none known here applies"),
        ("numbers", f"{data.precision.name}; deviations below {data.precision.tolerance:.1e} are none"),
    ]
    lines = [f"Diagnosis of {repr(diagnosis.problem).removeprefix('Problem: ')}", *_rows(answer)]
    if (mirrored := mirrored_sentence(diagnosis)) is not None:
        lines += _rows([("mirrored", mirrored)])
    return "\n".join([*lines, "because", *_rows(reasons)])


def _names(findings: Iterable[tuple[str, Finding]], holds: bool | None) -> str:
    return ", ".join(name for name, finding in findings if finding.holds is holds)


def _rows(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Rows with a name and a text, wrapped at the width of the terminal."""
    width = max(NARROWEST, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))
    lines: list[str] = []
    for name, text in rows:
        kept = re.sub(r" (?=<?=|%)|(?<==) ", TOGETHER, text)
        lines += textwrap.wrap(
            f"{name:<{NAME}}{kept}", width, initial_indent="  ", subsequent_indent=" " * (NAME + 2), break_on_hyphens=False
        )
    return [line.replace(TOGETHER, " ") for line in lines]


def next_sentence(outlook: Outlook) -> str:
    """What happens to the data as they are: by theorem, else by simulation."""
    if outlook.ahead is None:
        return outlook_sentence(outlook)
    ending = "" if outlook.ending.kind == "unknown" else f"; in the end: {outlook.ending}"
    return f"{ahead_sentence(outlook.ahead)}{ending}."


def certainty(diagnosis: Diagnosis) -> str:
    """What the answer rests on."""
    outlook = diagnosis.outlook
    if outlook.prediction is not None:
        told = outlook.prediction
        basis = told.provenance.get("basis", THEOREM)
        kind = f"{basis} whose hypotheses hold" if basis == THEOREM else basis
        return f"{kind} ({told.theorem}, {told.source})."
    if outlook.ahead is not None:
        theorem = "its end is a theorem's" if outlook.ending.kind != "unknown" else "no theorem speaks of these data"
        return f"{how_sure(outlook.ahead, diagnosis.problem.data.samples)}; {theorem}."
    return "no theorem speaks of these data; --verify simulates them."


def mirrored_sentence(diagnosis: Diagnosis) -> str | None:
    """What the data with mirror images (-x, -y) added would do, which is not what these do."""
    outlook = diagnosis.outlook
    if outlook.mirrored is None:
        return None
    half_way = "" if outlook.first_drop is None else f"be half way down at t = {outlook.first_drop:.3g} and "
    towards = "" if outlook.mirrored_limit is None else f" towards {round(outlook.mirrored_limit, 12):.3g}"
    sentence = f"other data, with a mirror image (-x, -y) for every sample, would {half_way}go{towards or ' on'}."
    return sentence if diagnosis.augmentation is None else f"{sentence} {diagnosis.augmentation}"


def symmetry_sentence(symmetry: Symmetry) -> str:
    """How far the data are from Condition 3, in one or two sentences."""
    if symmetry.is_exact:
        how = f"to {symmetry.distance:.2g}" if symmetry.distance else "exactly"
        return f"even inputs with an odd target, {how} (Condition 3)."
    bound = "" if symmetry.distance_is_exact else "at most "
    return (
        f"{bound}{100 * symmetry.distance:.3g} % away from even inputs with an odd target; {100 * symmetry.unpaired:.3g} % of the "
        f"samples have no mirror image within {100 * symmetry.tolerance:g} %; could the population be even: {p_words(symmetry.even_p)}, "
        f"with an odd target: {p_words(symmetry.odd_p)}."
    )


def outlook_sentence(outlook: Outlook) -> str:
    """First drop, plateau and end, as far as they are predicted."""
    parts = []
    when = "" if outlook.first_drop is None else f" around t = {outlook.first_drop:.4g}"
    if outlook.prediction is not None and when:
        parts.append(f"the loss falls{when}")
    if (plateau := outlook.plateau) is not None:
        parts.append(f"expect it to sit near {plateau.height:.4g} {_stay(plateau.duration)}")
    unknown = outlook.ending.kind == "unknown"
    parts.append(f"where it ends is {outlook.ending}" if unknown else f"it ends at: {outlook.ending}")
    if outlook.effective_rank is not None:
        parts.append(f"effective rank {outlook.effective_rank:.3g}")
    return "; ".join(parts) + "."


def _stay(duration: float) -> str:
    if isfinite(duration):
        return f"for about {duration:.3g} time units"
    return "for good" if isinf(duration) else "for a time that is not predicted"


def _number(value: float) -> str:
    return "none" if isnan(value) else f"{value:.4g}"


def verification_sentence(verified: Verification) -> str:
    """Prediction against simulation, quantity by quantity."""
    run = verified.run
    stopped = "" if run.status is Status.FINISHED else f"up to t = {run.times[-1]:.4g} ({run.ended}): "
    sentences = [f"{name} {_number(told)} predicted, {_number(seen)} simulated" for name, told, seen in verified.rows]
    if not sentences:
        sentences = [f"nothing was predicted; the simulated loss ends at {run.loss[-1]:.4g} (t = {run.times[-1]:.4g})"]
    if verified.judgement is not None:
        sentences.append(verified.judgement)
    return stopped + "; ".join(sentences) + "."
