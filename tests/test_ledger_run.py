"""What a run of the ledger wrote, its page in a real browser, and the README's figure: `make test` runs this after the ledger.

The folder of the run is given as LEDGER=folder; without it there is nothing to check.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from rectilinear.reproduce import CLAIMS

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PICTURE_TOLERANCE = 4.0  # root mean square of grey levels (of 255): lines may move by a fraction of a pixel between machines

pytestmark = pytest.mark.skipif("LEDGER" not in os.environ, reason="needs the folder of a run: LEDGER=folder")


@pytest.fixture
def out():
    return Path(os.environ["LEDGER"])


@pytest.fixture
def rows(out):
    return json.loads((out / "ledger.json").read_text())["claims"]


def test_every_claim_is_there_with_its_numbers_and_the_recorded_verdict(rows):
    assert [row["name"] for row in rows] == [claim.name for claim in CLAIMS]
    assert {row["name"]: row["verdict"] for row in rows} == {claim.name: claim.recorded.value for claim in CLAIMS}
    for row in rows:
        assert any(measurement["holds"] is not None for measurement in row["measurements"]), row["name"]
        if row["verdict"] != "confirmed":
            assert row["remark"], f"{row['name']}: a verdict that is not plain needs a paragraph"


def test_every_figure_is_there_as_png_and_pdf_with_a_caption(out, rows):
    pictures = {name: caption for row in rows for name, caption in row["captions"].items()}
    assert len(pictures) == sum(len(row["captions"]) for row in rows)
    for name, caption in pictures.items():
        assert caption.endswith(".")
        assert (out / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (out / f"{name}.pdf").read_bytes().startswith(b"%PDF")


def test_the_readme_shows_the_figure_of_the_run(out):
    from matplotlib.image import imread

    readme, run = (np.asarray(imread(folder / "figure_1.png"))[..., :3] for folder in (Path("docs"), out))
    assert readme.shape == run.shape
    error = 255.0 * np.sqrt(np.mean((readme - run) ** 2))
    assert error < PICTURE_TOLERANCE, (
        f"docs/figure_1.png is not that of the run: copy {out}/figure_1.png there, after a look"
    )


PROBE = """<script>addEventListener('load', () => {
  const all = [...document.querySelectorAll('a')].map(a => a.getAttribute('href'));
  const papers = all.filter(l => l.startsWith('https://arxiv.org/') || l.startsWith('https://openreview.net/'));
  const links = all.filter(l => !papers.includes(l));
  const told = {
    images: document.images.length, broken: [...document.images].filter(i => !i.naturalWidth).length,
    papers: new Set(papers).size, links: links.length, dead: links.filter(l => !l.startsWith('#') || !document.getElementById(l.slice(1))),
    wide: document.documentElement.scrollWidth - document.documentElement.clientWidth,
  };
  document.title = 'probe ' + JSON.stringify(told) + ' end';
});</script></body>"""


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [360, 1200])
def test_a_browser_shows_the_page_whole(out, rows, tmp_path, width):
    probed = tmp_path / "probed.html"
    probed.write_text((out / "report.html").read_text().replace("</body>", PROBE))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900"]
    command += ["--enable-logging=stderr", "--dump-dom", f"--user-data-dir={tmp_path / 'profile'}", probed.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    told = json.loads(re.search(r"<title>probe (.*) end</title>", shown.stdout).group(1))
    pictures = sum(len(row["captions"]) for row in rows)
    assert told == {"images": pictures, "broken": 0, "papers": 3, "links": len(rows) + pictures, "dead": [], "wide": 0}
    assert "CONSOLE" not in shown.stderr
