"""The ledger as one HTML page: a summary, a row for every claim, then each claim with its numbers and figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..report import badge, document, figure, table, tag, typeset
from ..report.html import Html
from .claim import Measurement, Verdict, written
from .ledger import Entry, Ledger, versions
from .papers import known_papers

TITLE = "The papers, checked"


def report(ledger: Ledger, out: Path) -> str:
    """The page; figures are read from `out` and put into it."""
    papers = {key: [entry for entry in ledger.entries if entry.claim.paper == key] for key in known_papers()}
    shown = {key: entries for key, entries in papers.items() if entries}
    return document(
        TITLE,
        *_summary(ledger),
        *(_overview(key, entries) for key, entries in shown.items()),
        *(_details(key, entries, out) for key, entries in shown.items()),
        *_colophon(ledger),
    )


def _summary(ledger: Ledger) -> list[Html]:
    counts: list[str] = []
    for verdict, count in ledger.counts.items():
        counts += [badge(verdict.value), f" {count}: {verdict.meaning}. "]
    surprises = ledger.surprises
    note = "Every verdict is the one recorded in the repository."
    if surprises:
        names = ", ".join(entry.claim.name for entry in surprises)
        note = f"These verdicts differ from the recorded ones: {names}."
    size = (
        "at the papers' sizes" if ledger.full else "some at reduced size (the papers' sizes: rectilinear reproduce --full)"
    )
    return [
        tag("h1", TITLE),
        tag("p", f"{len(ledger.entries)} statements of the papers, each measured on real runs, {size}.", class_="lead"),
        tag("p", *counts),
        tag("p", note, class_="soft"),
    ]


def _overview(key: str, entries: list[Entry]) -> Html:
    header = ("", "Claim", "Measured (threshold)", "Figure")
    return tag(
        "div",
        tag("h2", _linked(known_papers()[key].authors, key)),
        table(header, map(_summary_row, entries), class_="overview"),
    )


def _summary_row(entry: Entry) -> tuple[str, ...]:
    claim = entry.claim
    title = tag("div", tag("a", claim.title, href=f"#{claim.name}"), f", {claim.source}")
    figures = [tag("a", "figure", href=f"#figure-{name}") for name in entry.captions]
    stated = tag("div", title, tag("div", typeset(claim.statement), class_="soft"))
    return badge(entry.verdict.value), stated, typeset(entry.headline), Html(" ".join(figures))


def _details(key: str, entries: list[Entry], out: Path) -> Html:
    paper = known_papers()[key]
    return tag(
        "div",
        tag("h2", _linked(paper.title, key)),
        tag("p", paper.citation, class_="soft"),
        *(_claim(entry, out) for entry in entries),
    )


def _claim(entry: Entry, out: Path) -> Html:
    claim = entry.claim
    parts = [
        tag("h3", f"{claim.title} ", badge(entry.verdict.value)),
        tag("p", _linked(claim.source, claim.paper), class_="soft"),
        tag("p", typeset(claim.statement), class_="statement"),
    ]
    if not entry.as_recorded:
        parts.append(tag("p", f"Recorded verdict: {claim.recorded.value}."))
    if entry.measurements:
        header = ("What was measured", "Value", "Threshold", "Form", "Holds")
        parts.append(table(header, [_row(measurement) for measurement in entry.measurements], class_="measured"))
    if entry.remark:
        parts.append(tag("p", "" if entry.verdict is not Verdict.FAILED else "The check broke off: ", typeset(entry.remark)))
    parts += [figure(out / f"{name}.png", caption, typeset(caption)) for name, caption in entry.captions.items()]
    settings = "; ".join(f"{name} {_text(value)}" for name, value in entry.settings.items())
    parts.append(tag("p", f"{settings}. " if settings else "", tag("code", claim.name), class_="soft"))
    return tag("section", *parts, class_="claim", id=claim.name)


def _linked(text: str, paper: str) -> str:
    """The text as a link to the paper, where that can be read."""
    url = known_papers()[paper].url
    return text if url is None else tag("a", text, href=url)


def _row(measurement: Measurement) -> tuple[str, ...]:
    what, value = typeset(measurement.what), written(measurement.value)
    if not measurement.judges:
        return what, value, "", "", ""
    return what, value, measurement.threshold, measurement.form.value, "yes" if measurement.holds else "no"


def _text(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_text, value))
    return written(value) if isinstance(value, float) else str(value)


def _colophon(ledger: Ledger) -> list[Html]:
    made_with = ", ".join(f"{name} {number}" for name, number in versions().items())
    command = "rectilinear reproduce --full" if ledger.full else "rectilinear reproduce"
    return [
        tag("h2", "How this page was made"),
        tag(
            "p", "By ", tag("code", command), f" with {made_with}. All random numbers are seeded, as listed with each claim."
        ),
        tag(
            "p",
            "Beside this page lie ledger.json (every number above), each figure as PNG and PDF, and the measured series "
            "as netCDF.",
        ),
    ]
