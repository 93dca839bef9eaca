"""`python -m benchmarks [NAME ...]`: those named, or all."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import click

NAMES = (
    "figure_1",
    "field",
    "ordinary",
    "random_ordinary",
    "kinks",
    "stalls",
    "deep",
    "deep_ordinary",
    "scale",
    "diagnose",
    "explore",
    "sweeps",
)


@click.command()
@click.argument("names", nargs=-1, type=click.Choice(NAMES))
@click.option("--out", "folder", type=click.Path(path_type=Path), default=Path("out/benchmarks"), show_default=True)
@click.option("--cap", default=20.0, show_default=True, help="Seconds after which a peer counts as stalled (kinks).")
@click.option("--problems", default=200, show_default=True, help="How many random problems (stalls, deep, random_ordinary).")
@click.option("--runs", default=10_000, show_default=True, help="How many runs (sweeps).")
def main(names: tuple[str, ...], folder: Path, cap: float, problems: int, runs: int) -> None:
    """Measure Rectilinear against other solvers: tables on the screen, JSON and figures in a folder."""
    options: dict[str, dict[str, float]] = {
        "kinks": {"cap": cap},
        "stalls": {"problems": problems},
        "deep": {"problems": problems},
        "random_ordinary": {"problems": problems},
        "sweeps": {"runs": runs},
    }
    for name in names or NAMES:
        # imported when its turn comes: the peers take seconds to load
        import_module(f"benchmarks.{name}").run(folder, **options.get(name, {}))


main()
