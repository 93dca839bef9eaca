"""Docstrings, tables and numbers as the Markdown that pages are made of."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Sequence

from rectilinear.report import typeset

LETTERS = {
    "alpha": "α", "beta": "β", "delta": "δ", "eps": "ε", "eta": "η", "theta": "θ", "kappa": "κ", "mu": "μ", "xi": "ξ",
    "rho": "ρ", "sigma": "σ", "Sigma": "Σ", "tau": "τ", "phi": "φ",
}  # fmt: skip
SIGNS = (  # patterns of how formulas are typed in docstrings, and what a page shows
    (r"(?<![A-Za-z])(" + "|".join(LETTERS) + r")(?![A-Za-z])", lambda found: LETTERS[found[1]]),
    (r"<=", "≤"), (r">=", "≥"), (r"!=", "≠"), (r"->", "→"), (r"\+-", "±"),
    (r"<(?=\S)([^<>]*\S)>", r"⟨\1⟩"),
    (r"\bsqrt\b", "√"), (r"\bint\b(?= )", "∫"), (r"\bsum_", "∑_"), (r"\bsum (?=[a-z]_)", "∑ "),
    (r"(?<=[\w)]) \. (?=[\w(])", " · "), (r"((?<!\w)\w|\))'(?!\w)|'(?=_)", r"\1′"),
)  # fmt: skip


def prose(text: str) -> str:
    """Running text with indices and powers; code in backticks stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _marked(typeset(part)) for part in parts)


def mathematics(text: str) -> str:
    """A text that speaks of mathematics with Greek letters and signs, as a page shows it; code in backticks stays as it is.

    >>> mathematics("G_k = <phi_k M y> <= sqrt(2) sum_j A_j for `alpha` = 0")
    'G_k = ⟨φ_k M y⟩ ≤ √(2) ∑_j A_j for `alpha` = 0'
    """
    return "".join(part if part.startswith("`") else _signs(part) for part in re.split(r"(`[^`]*`)", text))


def _signs(text: str) -> str:
    for typed, shown in SIGNS:
        text = re.sub(typed, shown, text)
    return text


def _marked(shown: str) -> str:
    """Keep stars and bars from being read as Markdown."""
    return shown.replace("*", r"\*").replace("|", "&#124;")


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def docstring(text: str | None) -> str:
    """A docstring as Markdown: examples and formulas in blocks, tables and lists as they are, the rest as prose."""
    return "\n\n".join(_blocks(inspect.cleandoc(text or "")))


def statement(text: str | None) -> str:
    """A docstring of mathematics as Markdown: what is set off is a formula, typeset as the words around it."""
    blocks = re.split(r"\n\s*\n", mathematics(inspect.cleandoc(text or "")))
    return "\n\n".join(_formula(block) if block.startswith("    ") else _lines(block) for block in blocks)


def _formula(block: str) -> str:
    return f'<div class="formula">{typeset(inspect.cleandoc(block))}</div>'


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
