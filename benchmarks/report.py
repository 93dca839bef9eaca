"""Where results go: tables on the screen, JSON and figures in a folder."""

from __future__ import annotations

import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_info

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PEERS = ("rectilinear", "numpy", "scipy", "numba", "torch", "jax", "diffrax", "scikit-sundae")

console = Console()
if not console.is_terminal:
    console = Console(width=140)  # tables in a log are not squeezed


class Report:
    """Prints what a benchmark found and keeps it as <folder>/<name>.json and .png."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        folder.mkdir(parents=True, exist_ok=True)
        console.rule(name)
        facts = machine()
        if "OPENBLAS_CORETYPE" in os.environ:
            self.note(
                f"OPENBLAS_CORETYPE has NumPy's products made as on {facts['blas']}: they may be half as fast as without"
            )
        if facts["load"] is not None and facts["load"] > 0.5 * facts["cores"]:
            self.note(f"the machine is busy (load {facts['load']:.1f} on {facts['cores']} cores): do not trust the seconds")

    def table(self, title: str, headings: list[str], rows: list[list[str]]) -> None:
        """Print a table; the first column is text, the others are numbers."""
        table = Table(title=title, title_justify="left")
        for k, heading in enumerate(headings):
            table.add_column(heading, justify="right" if k else "left", no_wrap=True)
        for row in rows:
            table.add_row(*row)
        console.print(table)

    def note(self, text: str) -> None:
        console.print(text, highlight=False)

    def save(self, results: dict[str, Any], figure: Figure | None = None) -> None:
        """Write the results with the machine they were measured on, and the figure if there is one."""
        path = self.folder / f"{self.name}.json"
        path.write_text(json.dumps({"machine": machine(), **results}, indent=1) + "\n")
        if figure is not None:
            figure.savefig(path.with_suffix(".png"))
        self.note(f"results in {path}")


def machine() -> dict[str, Any]:
    """Processor, cores, load and versions, without which a time means little."""
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "blas": ", ".join(sorted({pool["architecture"] for pool in threadpool_info() if "architecture" in pool})),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PEERS},
    }


def _processor() -> str:
    """The processor's name where Linux tells it."""
    facts = Path("/proc/cpuinfo")
    if facts.exists():
        for line in facts.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def short(value: float | None, digits: int = 3) -> str:
    """A number in a table; a dash where there is none."""
    return "-" if value is None else f"{value:.{digits}g}"


def whole(value: float | None) -> str:
    """A count in a table, with thousands apart."""
    return "-" if value is None else f"{value:,.0f}"
