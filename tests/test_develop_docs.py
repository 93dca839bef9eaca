"""What those who work on this package rely on: files that pages name exist, and a constant's name means one thing."""

import ast
import re
from collections import Counter
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


def test_every_constant_of_flow_has_a_name_of_its_own():
    assigned = [
        name.id
        for path in FLOW.rglob("*.py")
        for statement in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name.id.isupper()
    ]
    assert len(assigned) > 100
    assert [name for name, count in Counter(assigned).items() if count > 1] == []
