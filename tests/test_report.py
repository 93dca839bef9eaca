"""The ledger's page: self-contained, complete, and sound in a real browser."""

import base64
import shutil
import subprocess
from html.parser import HTMLParser

import pytest
from matplotlib.figure import Figure

from rectilinear import report
from rectilinear.reproduce import Claim, Evidence, Form, Picture, Verdict, reproduce
from rectilinear.reproduce.claim import at_most, noted

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Page(HTMLParser):
    """What the tests want to know of a page: ids, links, images, text, and whether every tag is closed."""

    VOID = ("meta", "link", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.images, self.texts, self.open = set(), [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.ids |= {attributes["id"]} if "id" in attributes else set()
        self.links += [attributes["href"]] if tag == "a" else []
        self.images += [attributes] if tag == "img" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def claim(name, found, recorded, paper="zhang"):
    return Claim(name, f"Title <{name}>", paper, "Eq. 1 & 2", "If a < b then c.", recorded, lambda full: found)


@pytest.fixture
def written(tmp_path):
    figure = Figure()
    figure.subplots().plot([0.0, 1.0])
    good = Evidence(
        (at_most("error", 1e-9, 1e-6), noted("of interest", 2.5)),
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
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    (image,) = page.images
    assert base64.b64decode(image["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert image["alt"] == 'A "rising" line.'
    assert "http" not in text


def test_the_page_has_a_row_a_section_and_a_verdict_for_each_claim(written):
    page = Page(written.read_text())
    assert {"good", "mended", "figure-curve"} <= page.ids
    assert page.links == ["#good", "#figure-curve", "#mended"]
    for piece in (
        "Title <good>",
        "If a < b then c.",
        "1·10⁻⁹",
        "≤ 1·10⁻⁶",
        "Remarkable.",
        "scales 1·10⁻⁸, 0.5; seed 0.",
        "as corrected",
        "Recorded verdict: confirmed.",
        "These verdicts differ from the recorded ones: mended.",
        "Zhang, Saxe and Latham",
        "Kou, Chen and Gu",
    ):
        assert piece in page.text
    assert "Simon" not in page.text  # no claim of that paper was run


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
def test_a_browser_shows_every_image_and_reports_no_error(written):
    probe = (
        "<script>addEventListener('load', () => { document.title = "
        "[...document.images].map(i => i.naturalWidth > 0).join() + ' ' + (document.body.scrollWidth <= innerWidth); });</script>"
    )
    probed = written.with_name("probed.html")
    probed.write_text(written.read_text().replace("</body>", f"{probe}</body>"))
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--window-size=360,800",
        "--enable-logging=stderr",
        "--dump-dom",
    ]
    shown = subprocess.run([*command, probed.as_uri()], capture_output=True, text=True, timeout=120, check=True)
    assert "<title>true true</title>" in shown.stdout
    assert "CONSOLE" not in shown.stderr
