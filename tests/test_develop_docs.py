"""The pages for those who work on this package name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FLOW = ROOT / "src" / "rectilinear" / "flow"
PAGES = sorted((ROOT / "docs" / "develop").glob("*.md"))
NAMED = re.compile(r"`([\w/]+\.(?:py|md|toml)|[\w/]+/)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_that_is_named_exists(page):
    named = NAMED.findall(page.read_text(encoding="utf-8"))
    assert named
    missing = [name for name in named if not (FLOW / name).exists() and not (ROOT / name).exists()]
    assert missing == []


def test_every_place_in_contributing_exists():
    rows = [line for line in (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for row in rows:
        first, *others = re.findall(r"`([^`]+)`", row.split("|")[1])
        assert (ROOT / first).exists(), first
        for name in others:
            assert any((place / name).exists() for place in (ROOT, (ROOT / first).parent)), name
