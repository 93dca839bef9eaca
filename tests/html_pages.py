"""What tests want to know of an HTML page: its parts, and what a real browser makes of it."""

import shutil
import subprocess
from html.parser import HTMLParser

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")

PROBE = (
    "<script>addEventListener('load', () => { document.title = "
    "[...document.images].map(i => i.naturalWidth > 0).join() + ' ' + (document.body.scrollWidth <= innerWidth); });</script>"
)


class Page(HTMLParser):
    """Ids, links, images, text, and whether every tag is closed."""

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


def assert_sound_in_a_browser(text, folder, width=360):
    """Every image of the page is shown, nothing sticks out sideways, and the console stays silent."""
    probed = folder / "probed.html"
    probed.write_text(text.replace("</body>", f"{PROBE}</body>"))
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},800"]
    call = [*command, "--enable-logging=stderr", "--dump-dom", probed.as_uri()]
    shown = subprocess.run(call, capture_output=True, text=True, timeout=120, check=True)
    all_shown = ",".join(["true"] * len(Page(text).images))
    assert f"<title>{all_shown} true</title>" in shown.stdout
    assert "CONSOLE" not in shown.stderr
