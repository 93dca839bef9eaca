"""The site as `make site` built it, given as SITE=folder: every link, every page in a real browser, and the search."""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = pytest.mark.skipif("SITE" not in os.environ, reason="needs the folder that make site wrote: SITE=folder")
SITE = Path(os.environ.get("SITE", "nowhere")).resolve()
PAGES = sorted(str(path.relative_to(SITE)) for path in SITE.rglob("*.html") if "_static" not in path.parts)
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="the pages are looked at in Chromium, and there is none here")
SIZES = {"desktop": (1366, 900), "phone": (390, 844)}
WAIT = 120_000  # milliseconds
READ_ELSEWHERE = ("arxiv.org", "openreview.net", "sphinx-gallery.github.io")


class Links(HTMLParser):
    """What a page points to, and the places in it that can be pointed to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.found.append(given["href"])
        elif "src" in given:
            self.loaded.append(given["src"])
        elif tag == "link" and given.get("rel") in ("stylesheet", "icon", "preload"):
            self.loaded.append(given["href"])


@cache
def links_of(path: Path) -> Links:
    return Links(path.read_text(encoding="utf-8"))


def target_of(page: str, link: str) -> tuple[Path, str]:
    parts = urlsplit(link)
    place = (SITE / page).parent / unquote(parts.path) if parts.path else SITE / page
    return place.resolve(), unquote(parts.fragment)


def test_there_are_pages_of_every_kind() -> None:
    for kind in (
        "index",
        "theorems/two_neurons",
        "ledger/zhang",
        "gallery/index",
        "reference/rectilinear",
        "docs/tour",
        "CHANGELOG",
    ):
        assert f"{kind}.html" in PAGES


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_somewhere(page: str) -> None:
    links = links_of(SITE / page)
    for link in (*links.found, *links.loaded):
        parts = urlsplit(link)
        if parts.scheme == "data":
            continue
        if parts.scheme or parts.netloc:
            assert link in links.found, f"{link} would be loaded from elsewhere"
            assert parts.netloc.removeprefix("www.") in READ_ELSEWHERE, link
            continue
        place, fragment = target_of(page, link)
        assert place.is_relative_to(SITE), link
        assert place.is_file(), link
        if fragment and place.suffix == ".html" and place.name != "explorer.html":
            assert fragment in links_of(place).ids, link


class Silent(SimpleHTTPRequestHandler):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, directory=str(SITE), **options)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="the pages are looked at with playwright")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield started
        started.close()


@needs_chromium
@pytest.mark.parametrize("size", SIZES)
def test_pages_are_whole_silent_and_ask_nobody_else(browser: Any, address: str, size: str) -> None:
    width, height = SIZES[size]
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    page.set_default_timeout(WAIT)
    complaints: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda line: complaints.append(line.text) if line.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request",
        lambda asked: elsewhere.append(asked.url) if not asked.url.startswith((address, "data:", "blob:")) else None,
    )
    troubles = {}
    for name in PAGES:
        page.goto(address + name, wait_until="load")
        wide = page.evaluate("document.documentElement.scrollWidth") - width
        broken = page.evaluate("[...document.images].filter(i => i.loading !== 'lazy' && !i.naturalWidth).map(i => i.src)")
        if complaints or elsewhere or wide > 0 or broken:
            troubles[name] = (complaints.copy(), elsewhere.copy(), wide, broken)
        complaints.clear()
        elsewhere.clear()
    context.close()
    assert troubles == {}


@needs_chromium
def test_formulas_are_set(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{address}docs/glossary.html")
    page.wait_for_selector("mjx-container mjx-math")
    page.close()


@needs_chromium
def test_the_search_finds(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(WAIT)
    page.goto(f"{address}search.html?q=plateau")
    page.wait_for_selector("#search-results ul.search li a")
    found = page.eval_on_selector_all(
        "#search-results ul.search li a", "links => links.map(link => link.getAttribute('href'))"
    )
    page.close()
    assert any(re.search(r"theorems/perturbed_symmetry", link) for link in found)


@needs_chromium
def test_the_first_page_replays_a_run(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.set_default_timeout(WAIT)
    page.goto(address)
    page.locator("iframe.replay").scroll_into_view_if_needed()
    page.frame_locator("iframe.replay").locator(".rectilinear-explorer[data-status=exact]").wait_for()
    page.close()
