"""The notebook of the docs, executed: figures come as PNG, cards and films as HTML, without any magic."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    place = {"metadata": {"path": str(tmp_path_factory.mktemp("notebook"))}}
    return nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=place).execute()


def shown(cell):
    """What the cell shows, by type; streams and errors are none of it."""
    assert all(output.output_type != "error" for output in cell.outputs)
    return [output.data for output in cell.outputs if output.output_type in ("execute_result", "display_data")]


def test_every_figure_is_a_png(executed):
    figures = [cell for cell in executed.cells if "rl.plots." in cell.source and "animate" not in cell.source]
    assert len(figures) == 5
    for cell in figures:
        (data,) = shown(cell)
        assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG"), cell.source


def test_runs_and_diagnoses_are_cards_and_films_are_players(executed):
    html = {
        cell.source.splitlines()[-1]: shown(cell)[0].get("text/html", "")
        for cell in executed.cells
        if cell.cell_type == "code"
    }
    assert html["run"].startswith("<pre>Trajectory\n")
    assert "because" in html["rl.diagnose(problem)"]
    assert html["rl.plots.animate(run, frames=10)"].count("data:image/png;base64,") == 10


def test_the_notebook_is_kept_without_outputs():
    assert '"outputs": []' in NOTEBOOK.read_text()
    assert "image/png" not in NOTEBOOK.read_text()
