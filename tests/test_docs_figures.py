"""The figures of the docs are what their code draws today."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

DOCS = Path(__file__).parents[1] / "docs"
DRAWN = runpy.run_path(str(DOCS / "figures.py"))
FIGURES = DRAWN["FIGURES"]
DIFFERENT, AT_MOST = 64, 2e-3  # of 255 for a pixel, and the share of such pixels that rounding in another place may move


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_of_the_docs_is_not_stale(name, tmp_path):
    FIGURES[name]().savefig(tmp_path / "now.png", dpi=DRAWN["RESOLUTION"])
    kept, now = (
        np.asarray(Image.open(path).convert("L"), dtype=int) for path in (DOCS / f"{name}.png", tmp_path / "now.png")
    )
    assert kept.shape == now.shape
    assert np.mean(np.abs(kept - now) > DIFFERENT) <= AT_MOST, f"docs/{name}.png is stale: run `make figures`"
