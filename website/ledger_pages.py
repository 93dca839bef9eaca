"""The ledger as pages: every claim of a paper with its verdict, numbers and figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rectilinear.reproduce import CLAIMS, Entry, Measurement, Verdict
from rectilinear.reproduce.claim import written
from rectilinear.reproduce.papers import PAPERS
from rectilinear.studies import MAKERS
from writing import prose, table


def read(folder: Path) -> dict[str, Entry]:
    """The rows that `rectilinear reproduce` wrote into a folder, by the names of their claims."""
    rows = {row["name"]: row for row in json.loads((folder / "ledger.json").read_text())["claims"]}
    return {claim.name: Entry.from_json(claim, rows[claim.name], 0.0) for claim in CLAIMS}


def read_studies(folder: Path) -> dict[str, dict[str, str]]:
    """What `make studies` wrote into a folder, by the names of the studies; nothing where it was not run."""
    files = {name: folder / f"{name}.json" for name in MAKERS}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.exists()}


def pages(ledger: Mapping[str, Entry], studied: Mapping[str, Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """(path, text) of the page of each paper, of their overview, and of the studies, with those that were `studied`."""
    for key in PAPERS:
        yield f"ledger/{key}.md", _paper(key, [entry for entry in ledger.values() if entry.claim.paper == key])
    yield "ledger/index.md", _overview(ledger)
    yield "ledger/studies.md", _studies(studied)


def claim_section(entry: Entry, level: int = 2, figures: str = "../_ledger") -> str:
    """One claim: verdict, statement, what was measured beside its threshold, remark and figures."""
    claim = entry.claim
    parts = [
        f"{'#' * level} {prose(claim.title)}",
        f"{badge(entry.verdict)} {prose(claim.source)}",
        prose(claim.statement),
        table(("what was measured", "value", "threshold", "form", "holds"), [_row(one) for one in entry.measurements]),
        prose(entry.remark),
    ]
    for name, caption in entry.captions.items():
        parts.append(f"![{caption.replace('[', '(').replace(']', ')')}]({figures}/{name}.png)")
        parts.append(f"*{prose(caption)}*" if "*" not in caption else prose(caption))
    return "\n\n".join(part for part in parts if part)


def badge(verdict: Verdict) -> str:
    kinds = {Verdict.CONFIRMED: "success", Verdict.CORRECTED: "warning", Verdict.INCONCLUSIVE: "secondary"}
    return f"{{bdg-{kinds.get(verdict, 'danger')}}}`{verdict.value}`"


def _row(measurement: Measurement) -> Sequence[str]:
    what, value = prose(measurement.what), written(measurement.value)
    if not measurement.judges:
        return what, value, "", "", ""
    return what, value, measurement.threshold, measurement.form.value, "yes" if measurement.holds else "no"


def _paper(key: str, entries: Sequence[Entry]) -> str:
    paper = PAPERS[key]
    cited = prose(paper.citation) + (f" <{paper.url}>" if paper.url else "")
    return (
        "\n\n".join(
            (
                f"# {paper.authors}",
                f"*{paper.title}*",
                cited,
                *(f"(claim-{entry.claim.name})=\n{claim_section(entry)}" for entry in entries),
            )
        )
        + "\n"
    )


def _overview(ledger: Mapping[str, Entry]) -> str:
    counts = {verdict: sum(entry.verdict is verdict for entry in ledger.values()) for verdict in Verdict}
    told = "; ".join(f"{badge(verdict)} {count}: {verdict.meaning}" for verdict, count in counts.items() if count)
    rows = [
        (
            badge(entry.verdict),
            f"[{prose(entry.claim.title)}](#claim-{entry.claim.name})",
            prose(entry.claim.source),
            prose(entry.headline),
        )
        for entry in ledger.values()
    ]
    return "\n\n".join(
        (
            "# Ledger",
            f"{len(ledger)} statements of the papers, each measured on real runs. {told}.",
            "[How it is made, and how to add a claim](../docs/ledger.md).",
            table(("verdict", "claim", "source", "what decided (threshold)"), rows),
            "```{toctree}\n:hidden:\n\n" + "\n".join(PAPERS) + "\nstudies\n../docs/ledger\n```",
        )
    )


def _studies(studied: Mapping[str, Mapping[str, str]]) -> str:
    parts = [
        "# Studies",
        "What the papers on classification leave open, measured far out in log t. `make studies` runs them all in some twenty "
        "minutes and writes figures, numbers and a page of findings; [classification to infinite time](../docs/infinity.md) "
        "tells what was found. `rectilinear study NAME` runs one.",
        table(("study", "what it does"), [(f"`{name}`", prose(_first(make.__doc__))) for name, make in MAKERS.items()]),
    ]
    for name, found in studied.items():
        parts += [f"## {prose(found['question'])}", f"`{name}`, {prose(found['source'])}", prose(found["finding"])]
        parts.append(f"![{name}](../_ledger/{name}.png)")
    return "\n\n".join(parts) + "\n"


def _first(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())
