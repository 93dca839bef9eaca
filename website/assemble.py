"""Write the tree that Sphinx reads: pages of the repository, pages made from registries and ledger, gallery, explorer, MathJax.

python website/assemble.py LEDGER_FOLDER TARGET_FOLDER
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from importlib.metadata import files
from pathlib import Path

import ledger_pages
import reference
import theorem_pages
from rectilinear import bibliography
from rectilinear.explore.page import replay_page
from rectilinear.explore.presets import presets

ROOT = Path(__file__).parents[1]
WEBSITE = ROOT / "website"
REPOSITORY = ("CHANGELOG.md", "CONTRIBUTING.md", "CITATION.cff", "benchmarks/README.md", "docs")  # read by people there, too
FONTS = "woff"


def assemble(measured: Path, target: Path) -> None:
    """Write everything anew, in the repository's own layout, so that links between its files hold."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(WEBSITE / "pages", target)
    for name in REPOSITORY:
        place = target / name
        place.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, place)
    shutil.copytree(WEBSITE / "gallery", target / "examples")
    for name in ("conf.py", "figures.py"):
        shutil.copy(WEBSITE / name, target)
    (target / "references.bib").write_text("\n\n".join([*bibliography.PAPERS.values(), *bibliography.DATA.values()]) + "\n")
    ledger = ledger_pages.read(measured)
    studied = ledger_pages.read_studies(measured / "studies")
    for path, text in _made(ledger, studied):
        (target / path).parent.mkdir(parents=True, exist_ok=True)
        (target / path).write_text(text, encoding="utf-8")
    (target / "_ledger").mkdir()
    for entry in ledger.values():
        for figure in entry.captions:
            shutil.copy(measured / f"{figure}.png", target / "_ledger")
    for name in studied:
        shutil.copy(measured / "studies" / f"{name}.png", target / "_ledger")
    _static(target)


def _made(ledger: dict[str, ledger_pages.Entry], studied: dict[str, dict[str, str]]) -> Iterator[tuple[str, str]]:
    yield from theorem_pages.pages(ledger)
    yield from ledger_pages.pages(ledger, studied)
    yield from reference.pages()


def _static(target: Path) -> None:
    """The style sheet, the icon, MathJax with its fonts, and the explorer's page of replays."""
    static = target / "_static"
    static.mkdir()
    shutil.copy(WEBSITE / "site.css", static)
    shutil.copy(ROOT / "src/rectilinear/explore/page/icon.svg", static)
    for file in files("sphinx-mathjax-offline") or ():
        inside = str(file).partition("/static/")[2]
        if inside == "mathjax/tex-chtml.js" or (inside.endswith(FONTS) and "chtml" in inside):
            (static / inside).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), static / inside)
    extra = target / "_extra"
    extra.mkdir()
    (extra / "explorer.html").write_text(replay_page(presets()), encoding="utf-8")


if __name__ == "__main__":
    assemble(Path(sys.argv[1]), Path(sys.argv[2]))
