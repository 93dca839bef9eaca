"""How long the explorer takes from a move of the mouse to the exact run on the screen, in a real Chromium."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

from .report import Report

WIDTHS = (20, 100)
MOVES, EVERY = 120, 40  # moves of the mouse, and milliseconds between two
RADIUS = 25  # pixels of the circle on which the point is dragged
GOALS = {20: 60, 100: 130}  # milliseconds, of the median
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
COMMAND = [sys.executable, "-c", "from rectilinear.cli import main; main()", "explore", "--no-browser"]
CLOCK = """
    window.latencies = [];
    const [moves, solving] = [{}, {}];
    let last = 0;
    addEventListener("pointermove", () => { last = performance.now(); }, true);
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (text) {
        const message = JSON.parse(text);
        if (message.kind === "hello") this.addEventListener("message", (event) => {
            const answer = JSON.parse(event.data);
            if (answer.kind === "run") solving[answer.id] = 1000 * answer.seconds;
        });
        if (message.kind === "run" && !message.final) moves[message.id] = last;
        send.call(this, text);
    };
    new MutationObserver((changes) => {
        const drawn = changes[0].target.dataset.drawn;
        if (moves[drawn]) requestAnimationFrame(() => window.latencies.push([performance.now() - moves[drawn], solving[drawn]]));
    }).observe(document, { subtree: true, attributeFilter: ["data-drawn"] });
"""


def run(folder: Path) -> dict[str, Any]:
    """Drag the sixth point of Figure 2 round a circle; the goals are 60 ms at width 20 and 130 ms at width 100."""
    report = Report("explore", folder)
    rows = {str(width): summary(latencies(width)) for width in WIDTHS}
    report.table(
        f"{MOVES} moves of the mouse, {EVERY} ms apart: milliseconds from a move to its exact run on the screen",
        ["width", "runs drawn", "median", "nine tenths", "worst", "of which solving (median)", "goal (median)"],
        [
            [
                width,
                str(row["drawn"]),
                *(f"{row[name]:.0f}" for name in ("median", "nine_tenths", "worst", "solving")),
                str(GOALS[int(width)]),
            ]
            for width, row in rows.items()
        ],
    )
    report.save({"widths": rows})
    return rows


def summary(values: list[tuple[float, float]]) -> dict[str, float]:
    """The middle, the slow and the slowest, and what solving alone takes."""
    ordered = sorted(total for total, _ in values)
    return {
        "drawn": len(ordered),
        "median": median(ordered),
        "nine_tenths": ordered[int(0.9 * len(ordered))],
        "worst": ordered[-1],
        "solving": median(solving for _, solving in values),
    }


def latencies(width: int) -> list[tuple[float, float]]:
    """Milliseconds from the newest move in each drawn run to its drawing, and those of its solution."""
    from playwright.sync_api import sync_playwright

    server = subprocess.Popen(COMMAND, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        address = server.stdout.readline().strip()
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.set_default_timeout(300_000)
            page.add_init_script(CLOCK)
            page.goto(address)
            page.wait_for_selector("[data-status=exact]")
            page.get_by_label("Neurons", exact=True).fill(str(width))
            page.wait_for_selector("[data-status=exact]:not([data-drawn='1'])")
            drag(page)
            found: list[tuple[float, float]] = page.evaluate("window.latencies")
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return found


def drag(page: Any) -> None:
    """Move the sixth point round a circle, one turn."""
    box = page.locator("[data-point='5'] .disc").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    for k in range(MOVES):
        angle = 2.0 * math.pi * k / MOVES
        page.mouse.move(x + RADIUS * math.sin(angle), y + RADIUS * (1.0 - math.cos(angle)))
        page.wait_for_timeout(EVERY)
    page.mouse.up()
    page.wait_for_selector("[data-status=exact]")
