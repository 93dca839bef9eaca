"""All studies by name; running them writes figures, numbers and one page of findings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from ..crew import Engine, share_out
from ..errors import FileError, FlowError, InputError, did_you_mean
from ..jsonable import json_text
from ..kernels import compile_kernels
from ..report import document, figure, tag
from .correlation import correlation_path
from .directions import direction_convergence
from .far_limits import far_limits, limit_rates
from .nearly_orthogonal import frozen_patterns, stable_ranks
from .noise import symmetry_noise
from .separable import separable_solutions
from .small_steps import small_steps
from .study import Study
from .symmetric import symmetric_margin
from .width import finite_width

MAKERS: Mapping[str, Callable[[], Study]] = {
    make.__name__: make
    for make in (
        far_limits,
        limit_rates,
        symmetric_margin,
        stable_ranks,
        frozen_patterns,
        correlation_path,
        finite_width,
        separable_solutions,
        direction_convergence,
        small_steps,
        symmetry_noise,
    )
}
RESOLUTION = 160  # dots per inch of the PNG figures
TITLE = "Studies of classification to infinite time"


def run_studies(
    names: Sequence[str],
    out: Path,
    makers: Mapping[str, Callable[[], Study]] = MAKERS,
    jobs: int = 0,
    engine: Engine | None = None,
) -> Iterator[Study]:
    """Make the named studies, or all; each is written to `out` as soon as it is done, whatever becomes of the others.

    A study NAME gives NAME.png, NAME.pdf, NAME.nc and NAME.json; studies.html shows all that `out` holds. They are made by `jobs`
    processes or on a Dask cluster (`engine`), or here, one after the other.
    """
    if unknown := [name for name in names if name not in makers]:
        raise InputError(
            f"names must be among {', '.join(makers)}, found {', '.join(unknown)}{did_you_mean(unknown[0], makers)}"
        )
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(f"{out}: the folder could not be made ({error}); choose another place.") from error
    failed = {}
    work = partial(_make_and_write, makers, out.absolute())
    with closing(share_out(work, list(names or makers), _lost, jobs, engine, compile_kernels)) as steps:  # type: ignore[type-var]
        for name, made in steps:
            if isinstance(made, Study):
                (out / "studies.html").write_text(_page(makers, out), encoding="utf-8")
                yield made
            elif made is not None:
                failed[name] = made
    if failed:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise FlowError(f"every study must come to its end, found {len(failed)} that failed ({reasons}).")


def _make_and_write(makers: Mapping[str, Callable[[], Study]], out: Path, name: str) -> Study | str:
    """The study, or why there is none."""
    try:
        study = makers[name]()
        _write(study, out)
    except Exception as error:  # one failed study must not take the others with it
        return f"{type(error).__name__}: {error}"
    return study


def _lost(name: str) -> str:
    return "the process that made it died, perhaps for lack of memory"


def _write(study: Study, out: Path) -> None:
    import xarray

    drawn = study.draw()
    for kind in ("png", "pdf"):
        dates = {"CreationDate": None} if kind == "pdf" else None  # so that the same figure is the same file
        drawn.savefig(out / f"{study.name}.{kind}", dpi=RESOLUTION, metadata=dates)
    texts = {"question": study.question, "source": study.source, "finding": study.finding}
    xarray.Dataset(dict(study.numbers), attrs=texts).to_netcdf(out / f"{study.name}.nc", engine="h5netcdf")
    (out / f"{study.name}.json").write_text(json_text(study.to_json()), encoding="utf-8")


def _page(makers: Mapping[str, Any], out: Path) -> str:
    """The findings and figures of all studies that `out` holds."""
    parts = [tag("h1", TITLE), tag("p", "Questions that the papers leave open, each with what was measured.", class_="lead")]
    for name in makers:
        if (out / f"{name}.json").exists():
            study = json.loads((out / f"{name}.json").read_text(encoding="utf-8"))
            parts += [
                tag("h2", study["question"]),
                tag("p", study["source"], class_="soft"),
                tag("p", study["finding"]),
                figure(out / f"{name}.png", study["question"], shown=""),
            ]
    return document(TITLE, *parts)
