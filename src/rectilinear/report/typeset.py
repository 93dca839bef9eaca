"""Formulas in running text: indices and powers as HTML, so that nothing has to be loaded to read them."""

from __future__ import annotations

import html
import re

from .html import Html

POWERS = re.compile(r"\^(?:\{([^{}]*)\}|\(([^()]*)\)|(\w+))")
INDICES = re.compile(
    r"(?<!\w)([\w∑]′?)_(?:\{([^{}]*)\}|(\w+|[+-]))"
)  # of single letters: names with underscores stay as they are


SIGNS = {"<=": "≤", ">=": "≥", "+-": "±"}
AVERAGES = re.compile(r"<(\S[^<>]*)>")


def typeset(text: str) -> Html:
    """The text with W_lin, r_{L-1}, 10^100, e^{kt} and c^(−1/2) as indices and powers, averages in angle brackets, <= as ≤, and no
    line broken after ≤ or ≥.

    >>> typeset("W_lin → r_{L-1} e^{2kt} for breast_cancer, t = 10^100 & c^(−1/2)")
    'W<sub>lin</sub> → r<sub>L-1</sub> e<sup>2kt</sup> for breast_cancer, t = 10<sup>100</sup> &amp; c<sup>−1/2</sup>'
    >>> typeset("1 < 2 % of <y^2>, p <= 0.02")
    '1 &lt; 2 % of ⟨y<sup>2</sup>⟩, p ≤\xa00.02'
    """
    for ascii_, sign in SIGNS.items():
        text = text.replace(ascii_, sign)
    escaped = re.sub("([≤≥]) ", "\\1\u00a0", html.escape(AVERAGES.sub(r"⟨\1⟩", text)))
    indexed = INDICES.sub(lambda index: f"{index[1]}<sub>{index[2] or index[3]}</sub>", escaped)
    return Html(POWERS.sub(lambda power: f"<sup>{next(filter(None, power.groups()))}</sup>", indexed))
