"""The ledger's page: self-contained, complete, and sound in a real browser."""

import base64
from io import BytesIO

import pytest
from matplotlib.figure import Figure
from PIL import Image

from html_pages import Page, assert_sound_in_a_browser, needs_chromium
from rectilinear import report
from rectilinear.reproduce import Claim, Evidence, Form, Picture, Verdict, reproduce
from rectilinear.reproduce.claim import at_most, noted
from rectilinear.reproduce.papers import PAPERS

LONG = "a measurement whose name takes more than one line of a phone, with t = 10^10000 and W_lin, largest relative error"


def claim(name, found, recorded, paper="zhang"):
    return Claim(name, f"Title <{name}>", paper, "Eq. 1 & 2", "If a < b then c.", recorded, lambda full: found)


@pytest.fixture
def written(tmp_path):
    figure = Figure()
    figure.subplots().plot([0.0, 1.0])
    good = Evidence(
        (at_most("error", 1e-9, 1e-6), at_most(LONG, 0.2, 1 + 1e-12, Form.CORRECTED), noted("of interest", 2.5)),
        settings={"scales": [1e-8, 0.5], "seed": 0},
        pictures=(Picture("curve", 'A "rising" line.', figure),),
        remark="Remarkable.",
    )
    mended = Evidence((at_most("as printed", 2.0, 1.0), at_most("mended", 0.5, 1.0, Form.CORRECTED)))
    claims = [claim("good", good, Verdict.CONFIRMED), claim("mended", mended, Verdict.CONFIRMED, "kou")]
    reproduce(claims, tmp_path)
    return tmp_path / "report.html"


def test_elements_escape_texts_and_only_texts():
    inner = report.tag("b", "1 < 2 & 3")
    assert inner == "<b>1 &lt; 2 &amp; 3</b>"
    assert (
        report.tag("p", inner, " > 0", title='say "so"')
        == '<p title="say &quot;so&quot;"><b>1 &lt; 2 &amp; 3</b> &gt; 0</p>'
    )


def test_the_page_is_well_formed_and_needs_nothing_else(written):
    text = written.read_text()
    page = Page(text)
    assert page.open == []
    assert page.links
    within = [link for link in page.links if link.startswith("#")]
    assert all(link[1:] in page.ids for link in within)
    assert {link for link in page.links if link not in within} == {PAPERS["zhang"].url, PAPERS["kou"].url}
    (image,) = page.images
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert image["alt"] == 'A "rising" line.'
    png = base64.b64decode(image["src"].removeprefix("data:image/png;base64,"))
    assert 2 * int(image["width"]) in (
        Image.open(BytesIO(png)).width,
        Image.open(BytesIO(png)).width - 1,
    )  # sharp on dense displays
    for paper in PAPERS.values():
        text = text.replace(f'href="{paper.url}"', "")  # links lead elsewhere, nothing is loaded
    assert "http" not in text


def test_the_page_has_a_row_a_section_and_a_verdict_for_each_claim(written):
    page = Page(written.read_text())
    assert {"good", "mended", "figure-curve"} <= page.ids
    assert [link for link in page.links if link.startswith("#")] == ["#good", "#figure-curve", "#mended"]
    for piece in (
        "Title <good>",
        "If a < b then c.",
        "10⁻⁹",
        "≤ 10⁻⁶",
        "Remarkable.",
        "scales 10⁻⁸, 0.5; seed 0.",
        "as corrected",
        "with t = 1010000 and Wlin",  # a power and an index, no longer signs
        "Recorded verdict: confirmed.",
        "These verdicts differ from the recorded ones: mended.",
        "Zhang, Saxe and Latham",
        "Kou, Chen and Gu",
    ):
        assert piece in page.text
    assert "Simon" not in page.text  # no claim of that paper was run


@needs_chromium
def test_a_browser_shows_every_image_and_reports_no_error(written):
    assert_sound_in_a_browser(written.read_text(), written.parent)
