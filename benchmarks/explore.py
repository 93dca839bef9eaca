"""How long the explorer takes from a move of the mouse to the exact run on the screen, in a real Chromium."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from math import nan
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
STAGES = (
    "sending",
    "solving",
    "way",
    "drawing",
    "frame",
)  # of a wait, in their order; the way is there and back with the document
CLOCK = """
    window.waits = { run: [], theory: [] };
    const asked = {};
    let last = 0;
    addEventListener("pointermove", ({ buttons }) => { if (buttons) last = performance.now(); }, true);
    window.WebSocket = class extends WebSocket {
        constructor(...address) {
            super(...address);
            this.addEventListener("message", ({ data }) => {
                const wait = asked[/"id": ([0-9]+)}$/.exec(data)?.[1]];
                if (!wait || !data.startsWith('{"kind": "run"')) return;
                wait.got = performance.now();
                wait.solving = 1000 * /"seconds": ([^,]+)/.exec(data)[1];
            });
        }
        send(text) {
            const message = JSON.parse(text);
            // before the drag, typing a width asks for a preview too
            if (last && message.kind === "run" && !message.final) asked[message.id] = { move: last, sent: performance.now() };
            super.send(text);
        }
    };
    const drawn = (kind, id) => {
        const now = performance.now(), wait = asked[id];
        if (wait) requestAnimationFrame(() => window.waits[kind].push({ ...wait, drawn: now, seen: performance.now() }));
    };
    new MutationObserver((changes) => {
        for (const { target, attributeName: name } of changes) drawn(name === "data-drawn" ? "run" : "theory", target.getAttribute(name));
    }).observe(document, { subtree: true, attributeFilter: ["data-drawn", "data-glance"] });
"""
Wait = dict[str, float]


def run(folder: Path) -> dict[str, Any]:
    """Drag the sixth point of Figure 2 round a circle; the goals are 60 ms at width 20 and 130 ms at width 100."""
    report = Report("explore", folder)
    rows = {str(width): summary(waits(width)) for width in WIDTHS}
    report.table(
        f"{MOVES} moves of the mouse, {EVERY} ms apart: milliseconds from a move to its exact run on the screen",
        ["width", "runs drawn", "median", "nine tenths", "worst", "goal (median)", "theory (median)"],
        [
            [
                width,
                str(row["drawn"]),
                *(f"{row[name]:.0f}" for name in ("median", "nine_tenths", "worst")),
                str(GOALS[int(width)]),
                f"{row['theory']:.0f}",
            ]
            for width, row in rows.items()
        ],
    )
    report.table(
        "where they go (medians of each part)",
        ["width", *STAGES],
        [[width, *(f"{row[stage]:.1f}" for stage in STAGES)] for width, row in rows.items()],
    )
    report.save({"widths": rows})
    return rows


def summary(found: dict[str, list[Wait]]) -> dict[str, float]:
    """The middle, the slow and the slowest wait for a run, the middle of each of its parts, and of waits for theory."""
    waits = found["run"]
    ordered = sorted(wait["seen"] - wait["move"] for wait in waits)
    parts: dict[str, list[float]] = {
        "sending": [wait["sent"] - wait["move"] for wait in waits],
        "solving": [wait["solving"] for wait in waits],
        "way": [wait["got"] - wait["sent"] - wait["solving"] for wait in waits],
        "drawing": [wait["drawn"] - wait["got"] for wait in waits],
        "frame": [wait["seen"] - wait["drawn"] for wait in waits],
    }
    return {
        "drawn": len(ordered),
        "median": median(ordered),
        "nine_tenths": ordered[int(0.9 * len(ordered))],
        "worst": ordered[-1],
        "theory": median([wait["seen"] - wait["move"] for wait in found["theory"]] or [nan]),
        **{stage: median(parts[stage]) for stage in STAGES},
    }


def waits(width: int) -> dict[str, list[Wait]]:
    """When the newest move in each drawn run was made, sent, answered, drawn and seen, in milliseconds of the page; likewise theory."""
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
            page.wait_for_selector("[data-theory]")  # its process is ready too
            drag(page)
            found: dict[str, list[Wait]] = page.evaluate("window.waits")
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
