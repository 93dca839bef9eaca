"""The ledger: run claims, keep what is done, go on after failures, write numbers, figures and page."""

from __future__ import annotations

import hashlib
import inspect
import json
import platform
import time
import traceback
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..crew import share_out, side_by_side
from ..errors import FileError, InputError, did_you_mean
from ..jsonable import json_text
from ..kernels import compile_kernels
from ..whole_files import remove_stale, whole_file
from .claim import Claim, Evidence, Form, Measurement, Verdict

Progress = Callable[["Entry | None", Claim, int, int], None]  # (entry once done, claim, how many are done, of how many)

PACKAGE = Path(__file__).parents[1]
PACKAGES = ("rectilinear", "numpy", "scipy", "numba", "matplotlib")
RESOLUTION = 200  # dots per inch of the PNG figures
FEW = 10  # claims for which it is not worth while to compile all kernels first


@dataclass(frozen=True, eq=False)
class Entry:
    """A row of the ledger: a claim, its verdict, and what was measured. `captions` maps names of figures to captions."""

    claim: Claim
    verdict: Verdict
    measurements: tuple[Measurement, ...]
    settings: Mapping[str, Any]
    captions: Mapping[str, str]
    remark: str
    seconds: float

    @property
    def as_recorded(self) -> bool:
        return self.verdict is self.claim.recorded

    @property
    def headline(self) -> str:
        """The number that decided: the first that misses its threshold, else the first with one; the error of a failure.

        Beside a number that fails as printed is the one that holds as corrected.
        """
        judging = [measurement for measurement in self.measurements if measurement.judges]
        missing = [measurement for measurement in judging if not measurement.holds]
        if not judging:
            return self.remark
        decided = str((missing or judging)[0])
        corrected = [measurement for measurement in judging if measurement.form is Form.CORRECTED]
        return f"{decided}; corrected: {corrected[0]}" if self.verdict is Verdict.CORRECTED else decided

    def to_json(self) -> dict[str, Any]:
        """All but the seconds, so that two runs with the same seeds give the same text."""
        claim = self.claim
        return {
            "name": claim.name,
            "paper": claim.paper,
            "source": claim.source,
            "statement": claim.statement,
            "verdict": self.verdict.value,
            "recorded": claim.recorded.value,
            "measurements": [measurement.to_json() for measurement in self.measurements],
            "settings": dict(self.settings),
            "captions": dict(self.captions),
            "remark": self.remark,
        }

    @classmethod
    def from_json(cls, claim: Claim, values: Mapping[str, Any], seconds: float) -> Entry:
        return cls(
            claim,
            Verdict(values["verdict"]),
            tuple(Measurement.from_json(measurement) for measurement in values["measurements"]),
            values["settings"],
            values["captions"],
            values["remark"],
            seconds,
        )


@dataclass(frozen=True, eq=False)
class Ledger:
    """The rows of a run, in the order of the claims."""

    entries: tuple[Entry, ...]
    full: bool

    @property
    def surprises(self) -> tuple[Entry, ...]:
        """The rows whose verdict is not the recorded one."""
        return tuple(entry for entry in self.entries if not entry.as_recorded)

    @property
    def counts(self) -> dict[Verdict, int]:
        """How often each verdict was given, those that were not left out."""
        counts = Counter(entry.verdict for entry in self.entries)
        return {verdict: counts[verdict] for verdict in Verdict if counts[verdict]}

    def __str__(self) -> str:
        counts = ", ".join(f"{count} {verdict.value}" for verdict, count in self.counts.items())
        surprises = ", ".join(f"{entry.claim.name} (recorded: {entry.claim.recorded.value})" for entry in self.surprises)
        return f"{len(self.entries)} claims: {counts}" + (f"\nnot as recorded: {surprises}" if surprises else "")

    def to_json(self) -> str:
        return json_text(
            {
                "full": self.full,
                "versions": versions(),
                "counts": {verdict.value: count for verdict, count in self.counts.items()},
                "claims": [entry.to_json() for entry in self.entries],
            },
            indent=1,
        )


def reproduce(
    claims: Sequence[Claim],
    out: Path,
    full: bool = False,
    names: Sequence[str] = (),
    progress: Progress | None = None,
    jobs: int = 0,
    engine: str | None = None,
) -> Ledger:
    """Check the claims, or those with these names, and write ledger.json, figures (PNG and PDF), numbers (netCDF) and report.html.

    What was measured is kept in `out`/claims: an interrupted run goes on where it was, claims that are not named are shown as
    they were kept, and all are measured again when the package or the size changed. A check that raises becomes a row with the
    verdict `failed` and is not kept. With `jobs` claims are measured in so many processes of their own, otherwise in this one;
    with `engine`, the address of a Dask scheduler, by workers of a cluster that see the same `out`.
    """
    from .page import report

    chosen = _chosen(claims, names)
    store = Store(out if engine is None else out.absolute(), full)  # workers may be started in other folders
    entries = {claim.name: entry for claim in claims if (entry := store.kept(claim)) is not None}
    kept = [claim for claim in chosen if claim.name in entries]
    left = [claim for claim in chosen if claim.name not in entries]
    tell = progress or _silent
    for number, claim in enumerate(kept, 1):
        tell(entries[claim.name], claim, number, len(chosen))
    done = len(kept)
    with closing(_measured(left, store, jobs, engine)) as measured:
        for claim, entry in measured:
            if entry is not None:
                entries[claim.name] = entry
                done += 1
            tell(entry, claim, done, len(chosen))
    ledger = Ledger(tuple(entries[claim.name] for claim in claims if claim.name in entries), full)
    store.write("ledger.json", ledger.to_json())
    store.write("report.html", report(ledger, out))
    return ledger


def _silent(entry: Entry | None, claim: Claim, done: int, of: int) -> None:
    """Tell nobody."""


def _chosen(claims: Sequence[Claim], names: Sequence[str]) -> list[Claim]:
    known = [claim.name for claim in claims]
    if unknown := [name for name in names if name not in known]:
        raise InputError(
            f"names must be among {', '.join(known)}, found {', '.join(unknown)}{did_you_mean(unknown[0], known)}"
        )
    return [claim for claim in claims if not names or claim.name in names]


def _measured(
    claims: Sequence[Claim], store: Store, jobs: int, engine: str | None
) -> Generator[tuple[Claim, Entry | None], None, None]:
    """(claim, None) when its check begins, (claim, entry) when it is done."""
    if jobs and engine is None and len(claims) > FEW:
        list(side_by_side(compile_kernels, [None], 1, bool))
    yield from share_out(partial(_measure, store), claims, _lost, jobs, engine, compile_kernels)


def _measure(store: Store, claim: Claim) -> Entry:
    began = time.perf_counter()
    try:
        evidence = claim.check(store.full)
        store.save_results(claim, evidence)
    except Exception as error:  # a broken check must not take the others with it
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__} in {Path(where.filename).name}, line {where.lineno}: {error}"
        return _failed(claim, what, time.perf_counter() - began)
    entry = Entry(
        claim,
        evidence.verdict,
        evidence.measurements,
        evidence.settings,
        {picture.name: picture.caption for picture in evidence.pictures},
        " ".join(text for text in (evidence.remark, evidence.open_question) if text),
        time.perf_counter() - began,
    )
    store.keep(entry)
    return entry


def _failed(claim: Claim, what: str, seconds: float) -> Entry:
    return Entry(claim, Verdict.FAILED, (), {}, {}, what, seconds)


def _lost(claim: Claim) -> Entry:
    return _failed(claim, "the process that measured it died, perhaps for lack of memory", 0.0)


class Store:
    """The folder of a run: what is written there, and what was kept from an earlier run of the same code."""

    def __init__(self, out: Path, full: bool) -> None:
        self.out, self.full = out, full
        self.code = fingerprint(full)
        try:
            (out / "claims").mkdir(parents=True, exist_ok=True)
            remove_stale(out, out / "claims")
        except OSError as error:
            raise FileError(f"{out}: the folder could not be made ({error}); choose another place.") from error

    def code_of(self, claim: Claim) -> str:
        """What the claim's numbers come from: the package, and the file of a check that is not in it."""
        try:
            file = inspect.getsourcefile(claim.check)
        except TypeError:  # not a plain function: nothing tells where it was written
            file = None
        if file is None or Path(file).is_relative_to(PACKAGE):
            return self.code
        return f"{self.code} {hashlib.sha256(Path(file).read_bytes()).hexdigest()}"

    def kept(self, claim: Claim) -> Entry | None:
        """The row measured before by the same code at the same size, with all its figures; None if there is none."""
        try:
            values = json.loads(self._file_of(claim).read_text())
            if values["code"] != self.code_of(claim):
                return None
            entry = Entry.from_json(claim, values["entry"], values["seconds"])
        except (OSError, ValueError, LookupError, TypeError):
            return None  # absent, or cut off while it was written
        return entry if all((self.out / f"{name}.png").exists() for name in entry.captions) else None

    def keep(self, entry: Entry) -> None:
        values = {"code": self.code_of(entry.claim), "seconds": entry.seconds, "entry": entry.to_json()}
        self.write(f"claims/{entry.claim.name}.json", json_text(values, indent=1))

    def save_results(self, claim: Claim, evidence: Evidence) -> None:
        """Figures as PNG and PDF, numbers as netCDF."""
        for picture in evidence.pictures:
            for kind in ("png", "pdf"):
                dates = {"CreationDate": None} if kind == "pdf" else None  # so that the same figure is the same file
                picture.figure.savefig(self.out / f"{picture.name}.{kind}", dpi=RESOLUTION, metadata=dates)
        if evidence.numbers:
            import xarray

            attributes = {"claim": claim.statement, "source": claim.source, "settings": json_text(dict(evidence.settings))}
            contents = xarray.Dataset(dict(evidence.numbers), attrs=attributes)
            contents.to_netcdf(self.out / f"{claim.name}.nc", engine="h5netcdf")

    def write(self, name: str, text: str) -> None:
        path = self.out / name
        try:
            with whole_file(path) as place:
                place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise FileError(f"{path}: it could not be written ({error}); choose another place.") from error

    def _file_of(self, claim: Claim) -> Path:
        return self.out / "claims" / f"{claim.name}.json"


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{package: version(package) for package in PACKAGES}}


def fingerprint(full: bool) -> str:
    """A hash of the package's source, the versions it runs on and the size: equal if claims would give the same numbers."""
    digest = hashlib.sha256(json.dumps([full, versions()]).encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
