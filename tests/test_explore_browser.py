"""The page in a real browser: what a person does with it, and what it must never do."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest

import rectilinear as rl
from explorers import serving
from rectilinear.explore.page import replay_page
from rectilinear.explore.presets import presets
from rectilinear.explore.server import Server
from rectilinear.explore.state import State

playwright = pytest.importorskip(
    "playwright.sync_api", reason="the page is tested where the package playwright is installed"
)
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="the page is tested in Chromium, and there is none on this machine")

FLAGS = [
    "--no-sandbox",  # in containers, where there is nothing to protect from our own page
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WAIT = 300_000  # milliseconds within which anything happens on the busiest machine, compiling included
QUICK = State(points=((1.0, 0.0, 1.0), (-1.0, 0.1, -1.0)), width=4, until=30.0, name="quick")


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


class Watched:
    """A page with everything it asked for and complained of."""

    def __init__(self, context: Any, address: str) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(WAIT)
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.sent: list[str] = []
        self.page.on("websocket", self._listen)
        self.page.on(
            "console", lambda line: self.complaints.append(line.text) if line.type in ("error", "warning") else None
        )
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.goto(address)

    def _listen(self, link: Any) -> None:
        self.asked.append(link.url)
        link.on("framesent", lambda frame: self.sent.append(frame))

    @property
    def root(self) -> Any:
        return self.page.locator(".rectilinear-explorer")

    @property
    def state(self) -> dict[str, str]:
        """What the address says."""
        return {name: values[0] for name, values in parse_qs(self.page.url.split("#")[1]).items()}

    def exact(self) -> None:
        """Wait until the last thing asked for is drawn exactly."""
        self.page.wait_for_selector(".rectilinear-explorer[data-status=exact]")

    def after(self, act: Callable[[], Any]) -> None:
        """Do something that asks for a run, and wait for its final drawing."""
        drawn = int(self.root.get_attribute("data-drawn"))
        act()
        self.page.wait_for_selector(f".rectilinear-explorer[data-status=exact]:not([data-drawn='{drawn}'])")

    def point(self, k: int) -> Any:
        return self.page.locator(f"[data-point='{k}']")

    def drag(self, k: int, dx: float, dy: float, drop: bool = True) -> None:
        box = self.point(k).locator(".disc").bounding_box()
        x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        for step in range(1, 6):
            self.page.mouse.move(x + dx * step / 5, y + dy * step / 5)
        if drop:
            self.page.mouse.up()

    def curve(self) -> str:
        return str(self.page.locator(".curve .run path").get_attribute("d"))


@pytest.fixture
def open_page(browser: Any, server: Server) -> Iterator[Callable[..., Watched]]:
    contexts, pages = [], []

    def opened(address: str | None = None, ready: bool = True, **options: Any) -> Watched:
        contexts.append(
            browser.new_context(**{"viewport": {"width": 1280, "height": 860}, "accept_downloads": True, **options})
        )
        pages.append(Watched(contexts[-1], server.address if address is None else address))
        if ready:
            pages[-1].exact()
        return pages[-1]

    yield opened
    for page in pages:
        assert [text for text in page.complaints if "ERR_CONNECTION_REFUSED" not in text] == []
        own = (
            f"http://{next(iter(server.hosts)).split(':')[0]}",
            "http://127.0.0.1",
            "ws://127.0.0.1",
            "file:",
            "blob:",
            "data:",
        )
        assert [url for url in page.asked if not url.startswith(own)] == []
    for context in contexts:
        context.close()


def test_dragging_a_point_changes_the_run(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    before, points = watched.curve(), watched.state["points"]
    watched.drag(5, 30, -60, drop=False)
    assert watched.page.locator(".reading").text_content().startswith("Point 6: x = (1.")
    watched.after(watched.page.mouse.up)
    assert watched.page.locator(".status").text_content().startswith("Exact run to t = 3000")
    watched.page.mouse.move(5, 5)
    assert watched.page.locator(".reading").text_content().startswith("Drag a point")
    assert [json.loads(frame)["final"] for frame in watched.sent[1:]][1] is False  # a preview while the point was held
    assert watched.curve() != before
    moved, kept = watched.state["points"].split(";"), points.split(";")
    assert moved[:5] == kept[:5]
    assert moved[5] != kept[5]
    assert watched.root.get_attribute("data-final") == "true"


def test_the_grid_follows_the_scales_and_only_they_change_it(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    grid = watched.page.locator(".curve .grid")
    before = grid.inner_html()
    watched.page.evaluate("document.querySelector('.curve .grid path').dataset.same = 1")
    watched.drag(5, 20, -20, drop=False)
    watched.after(watched.page.mouse.up)
    assert watched.page.locator(".curve .grid path[data-same]").count() == 1
    watched.after(lambda: watched.page.get_by_label("Choose a run").select_option("To t = 10^1,000,000"))
    assert "10^1,000,000" in watched.page.locator(".curve .labels").text_content()
    watched.after(lambda: watched.page.get_by_label("Choose a run").select_option("Six points (Figure 2)"))
    assert grid.inner_html() == before


def test_points_are_added_flipped_and_deleted_with_the_mouse(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    box = watched.page.locator(".square svg").bounding_box()
    watched.page.get_by_role("radio", name="Add").click()
    watched.after(lambda: watched.page.mouse.click(box["x"] + 0.5 * box["width"], box["y"] + 0.15 * box["height"]))
    assert len(watched.state["points"].split(";")) == 7
    watched.page.get_by_role("radio", name="Flip").click()
    watched.after(lambda: watched.point(6).click())
    assert watched.state["points"].split(";")[6].endswith(",-1")
    watched.page.get_by_role("radio", name="Delete").click()
    watched.after(lambda: watched.point(6).click())
    assert len(watched.state["points"].split(";")) == 6


def test_everything_can_be_done_with_the_keyboard(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    keyboard = watched.page.keyboard
    watched.point(5).focus()
    watched.after(lambda: keyboard.press("ArrowUp"))
    assert watched.state["points"].split(";")[5] == "1,0.2,-1"
    watched.after(lambda: keyboard.press("Shift+ArrowRight"))
    assert watched.state["points"].split(";")[5] == "1.005,0.2,-1"
    watched.after(lambda: keyboard.press("f"))
    assert watched.state["points"].split(";")[5] == "1.005,0.2,1"
    watched.after(lambda: keyboard.press("n"))
    assert len(watched.state["points"].split(";")) == 7
    watched.point(6).focus()
    watched.after(lambda: keyboard.press("Delete"))
    assert len(watched.state["points"].split(";")) == 6
    assert "label 1, output" in watched.point(5).get_attribute("aria-label")


def test_a_finger_drags_a_point_on_a_phone(open_page: Callable[..., Watched]) -> None:
    watched = open_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    watched.page.get_by_role("radio", name="Flip").tap()
    watched.after(lambda: watched.point(4).tap())
    assert watched.state["points"].split(";")[4] == "-1,0,-1"
    watched.page.get_by_role("radio", name="Move").tap()
    box = watched.point(5).locator(".disc").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    finger = watched.page.context.new_cdp_session(watched.page)

    def slide() -> None:
        for kind, places in (
            ("touchStart", [(x, y)]),
            ("touchMove", [(x - 20, y)]),
            ("touchMove", [(x - 40, y - 30)]),
            ("touchEnd", []),
        ):
            finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in places]})

    before = watched.page.evaluate("scrollY")
    watched.after(slide)
    x1, x2, label = map(float, watched.state["points"].split(";")[5].split(","))
    assert (x1 < 0.9, x2 > 0.25, label) == (True, True, -1.0)
    assert watched.page.evaluate("scrollY") == before  # the finger moves the point, not the page
    assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390  # nothing sticks out


def test_the_slider_moves_through_time(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    slider = watched.page.get_by_role("slider", name="Time")
    end = watched.page.locator(".moment").inner_text()
    neurons = watched.page.locator(".neurons .shaft").first.get_attribute("d")
    slider.fill("0")
    assert "t = 0" in slider.get_attribute("aria-valuetext")
    assert watched.page.locator(".neurons .shaft").first.get_attribute("d") != neurons
    slider.press("End")
    assert watched.page.locator(".moment").inner_text() == end
    watched.page.get_by_role("button", name="Rewind").click()
    watched.page.get_by_role("button", name="Play").click()
    watched.page.wait_for_selector(".rectilinear-explorer:not([data-frame='0'])")
    watched.page.get_by_role("button", name="Pause").click()
    assert watched.state["seed"] == "0"


def test_the_whole_state_is_in_the_address(open_page: Callable[..., Watched], server: Server) -> None:
    first = open_page(server.address + "&points=1,0,1;-1,0.1,-1&width=4&until=30")
    assert (first.state["width"], first.state["until"]) == ("4", "30")
    first.after(lambda: first.drag(0, -40, 20))
    first.after(lambda: first.page.get_by_label("Seed", exact=True).fill("3"))
    first.page.get_by_role("slider", name="Time").fill("90")
    playwright.expect(first.page).to_have_url(re.compile("frame=90"))
    second = open_page(first.page.url)
    assert second.state == first.state
    assert second.curve() == first.curve()
    assert second.root.get_attribute("data-frame") == "90"


def test_controls_change_the_run_and_say_what_cannot_be(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.after(lambda: watched.page.get_by_label("Neurons", exact=True).fill("7"))
    assert watched.state["width"] == "7"
    watched.after(lambda: watched.page.get_by_label("Loss", exact=True).select_option("logistic"))
    watched.page.get_by_label("Start", exact=True).select_option("antisymmetric")
    playwright.expect(watched.page.get_by_role("status")).to_contain_text("the width must be even, found 7")
    assert watched.root.get_attribute("data-status") == "refused"


def test_lights_say_what_holds_and_for_which_theorem(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.page.wait_for_selector("[data-theory]")
    rows = watched.page.locator(".lights li")
    assert rows.count() == len(rl.diagnose(presets()[0].problem()).findings)
    small = rows.filter(has_text="small start")
    assert "yes" in small.text_content()
    small.hover()
    tip = watched.page.get_by_role("tooltip").text_content()
    assert "Assumed by:" in tip
    assert watched.page.locator(".curve .plateau rect").count() == 1
    assert watched.page.locator(".curve .theory path").count() == 1


def test_a_kept_run_stays_for_comparison(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    before = watched.curve()
    watched.page.get_by_role("button", name="Keep to compare").click()
    watched.after(lambda: watched.page.get_by_label("Seed", exact=True).fill("3"))
    assert watched.page.locator(".curve .ghost path").get_attribute("d") == before
    assert watched.curve() != before


def test_every_preset_is_drawn(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    for state in presets()[1:]:
        if state.depth == 1:  # the deep one, which takes seconds, has a test of its own
            watched.after(lambda name=state.name: watched.page.get_by_label("Choose a run").select_option(name))
            assert watched.state["name"] == state.name
            assert "NaN" not in watched.page.content()


def test_no_point_of_new_data_is_chosen(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.after(lambda: watched.drag(5, 20, 10))
    assert watched.page.locator(".point.selected").count() == 1
    assert watched.page.locator(".chosen").is_visible()
    watched.after(lambda: watched.page.get_by_label("Choose a run").select_option("XOR"))
    assert watched.page.locator(".point.selected").count() == 0
    assert watched.page.locator(".chosen").is_hidden()
    watched.after(lambda: watched.drag(0, 20, 10))
    watched.page.get_by_label("Choose a run").select_option("mine")
    watched.page.get_by_label("Rows of numbers, the label last").fill("1,2,1\n-1,1,-1\n")
    watched.after(lambda: watched.page.get_by_role("button", name="Use these").click())
    assert watched.page.locator(".point.selected").count() == 0
    assert watched.page.locator(".chosen").is_hidden()


def test_my_own_data_are_pasted(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.page.get_by_label("Choose a run").select_option("mine")
    area = watched.page.get_by_label("Rows of numbers, the label last")
    area.fill("1, 2\n3, 4")
    watched.page.get_by_role("button", name="Use these").click()
    playwright.expect(watched.page.get_by_role("alert")).to_have_text(
        "Two inputs and a label are needed in each row, found 2 columns."
    )
    area.fill("a,b,c,y\n3,0,4,1\n-3,0,-4,-1\n0,2,0,1\n")
    watched.after(lambda: watched.page.get_by_role("button", name="Use these").click())
    lengths = [sum(float(value) ** 2 for value in point.split(",")[:2]) for point in watched.state["points"].split(";")]
    assert lengths == pytest.approx([25.0, 25.0, 4.0])
    assert "principal axes (100 % of their size)" in watched.page.locator(".note").inner_text()


def test_the_tour_leads_through_figure_2(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.page.get_by_role("button", name="Tour").click()
    tour = watched.page.get_by_role("complementary", name="Guided tour")
    seen = []
    while tour.is_visible():
        seen.append(tour.get_by_role("heading").inner_text())
        watched.exact()
        tour.get_by_role("button", name=re.compile("Next|Done")).click()
    assert len(seen) == 7


def test_code_tables_pictures_and_runs_are_taken_away(open_page: Callable[..., Watched], tmp_path: Path) -> None:
    watched = open_page()
    watched.page.wait_for_selector("[data-theory]")

    def taken(name: str) -> Path:
        with watched.page.expect_download() as waiting:
            watched.page.get_by_role("button", name=name, exact=True).click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path

    assert taken("CSV").read_text().startswith("time,loss,predicted_loss\n0,0.5")
    assert taken("PNG").read_bytes().startswith(b"\x89PNG")
    assert taken("SVG").read_text().startswith("<svg ")
    assert json.loads(taken("JSON").read_text())["complete"]
    watched.page.get_by_role("button", name="Python", exact=True).click()
    assert "rl.simulate(problem, times=" in watched.page.get_by_role("dialog").inner_text()
    watched.page.get_by_role("button", name="Close").click()
    replay = open_page(taken("Page").as_uri())
    assert replay.curve() == watched.curve()


def test_an_exported_page_replays_from_a_file_with_the_network_off(
    open_page: Callable[..., Watched], tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(replay_page([QUICK, State(points=QUICK.points, width=5, until=30.0, name="other")]), encoding="utf-8")
    watched = open_page(path.as_uri(), offline=True)
    before = watched.curve()
    watched.page.get_by_role("slider", name="Time").fill("10")
    assert watched.root.get_attribute("data-frame") == "10"
    watched.after(lambda: watched.page.get_by_label("Choose a run").select_option("other"))
    assert watched.curve() != before
    assert watched.page.get_by_label("Neurons", exact=True).is_disabled()
    assert watched.asked == [path.as_uri()]


def test_two_tabs_keep_to_themselves(open_page: Callable[..., Watched]) -> None:
    first, second = open_page(), open_page()
    first.after(lambda: first.page.get_by_label("Neurons", exact=True).fill("5"))
    second.after(lambda: second.page.get_by_label("Neurons", exact=True).fill("9"))
    assert (first.state["width"], second.state["width"]) == ("5", "9")
    assert first.curve() != second.curve()


def test_a_stale_run_is_given_up_for_the_newest(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    watched.page.get_by_label("Choose a run").select_option("A deep network")
    watched.page.wait_for_selector(".rectilinear-explorer[data-status=running]")
    watched.after(lambda: watched.page.get_by_label("Choose a run").select_option("XOR"))
    assert watched.state["name"] == "XOR"


def test_the_page_outlives_its_server_and_goes_on_when_it_is_back(browser: Any) -> None:
    context = browser.new_context()
    with serving() as first:
        watched = Watched(context, first.address)
        watched.exact()
        port = int(first.listener.getsockname()[1])
    watched.page.wait_for_selector("[data-status=gone]")
    playwright.expect(watched.page.get_by_role("status")).to_contain_text("The server is gone")
    with serving(port, first.token):
        watched.exact()
        watched.after(lambda: watched.page.get_by_label("Neurons", exact=True).fill("6"))
        assert watched.state["width"] == "6"
    context.close()


def test_a_wrong_token_is_refused_and_the_page_says_what_to_do(open_page: Callable[..., Watched], server: Server) -> None:
    watched = open_page(server.address.split("#")[0] + "#token=wrong", ready=False)
    playwright.expect(watched.page.get_by_role("status")).to_contain_text("open the one that “rectilinear explore” printed")


def test_a_foreign_page_cannot_open_the_socket(browser: Any, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto("data:text/html,foreign")
    address = f"ws://{next(iter(server.hosts))}/socket"
    outcome = page.evaluate(
        """address => new Promise(done => {
            const socket = new WebSocket(address);
            socket.onopen = () => done("open");
            socket.onerror = () => done("refused");
        })""",
        address,
    )
    assert outcome == "refused"
    context.close()


def test_every_control_has_a_name_and_the_page_its_landmarks(open_page: Callable[..., Watched]) -> None:
    watched = open_page()
    for role in ("banner", "main", "status"):
        assert watched.page.get_by_role(role).count() == 1
    nameless = watched.page.evaluate(
        """[...document.querySelectorAll('button, input, select, textarea, [role=button], [role=radio]')]
        .filter(e => !(e.innerText?.trim() || e.getAttribute('aria-label') || e.labels?.length)).map(e => e.outerHTML)"""
    )
    assert nameless == []
