"""Docstrings, tables and numbers as the Markdown that pages are made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from rectilinear.report import typeset


def prose(text: str) -> str:
    """Running text with indices and powers; code in backticks stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _marked(typeset(part)) for part in parts)


def _marked(shown: str) -> str:
    """Keep stars and bars from being read as Markdown."""
    return shown.replace("*", r"\*").replace("|", "&#124;")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def docstring(text: str | None) -> str:
    """A docstring as Markdown: examples and formulas in blocks, tables and lists as they are, the rest as prose."""
    return "\n\n".join(_blocks(inspect.cleandoc(text or "")))


def _blocks(text: str) -> Iterator[str]:
    for block in re.split(r"\n\s*\n", text):
        if not block.strip():
            continue
        if block.lstrip().startswith(">>>"):
            yield f"```python\n{inspect.cleandoc(block)}\n```"
        elif block.startswith("    "):
            yield f"```text\n{inspect.cleandoc(block)}\n```"
        elif block.startswith("|"):
            yield block
        else:
            head, mark, example = block.partition("\n>>>")  # an example may follow without an empty line
            yield _lines(head)
            if mark:
                yield f"```python\n>>>{example}\n```"


def _lines(block: str) -> str:
    """Prose or a list; a line that merely begins with a minus stays prose."""
    is_list = all(line.startswith(("- ", "  ")) for line in block.splitlines())
    lines = [prose(line) if is_list else re.sub(r"^([-+#>])", r"\\\1", prose(line)) for line in block.splitlines()]
    return "\n".join(lines)
