"""Formulas in running text: indices and powers as HTML, so that nothing has to be loaded to read them."""

from __future__ import annotations

import html
import re

from .html import Html

POWERS = re.compile(r"\^(?:\{([^{}]*)\}|\(([^()]*)\)|(\w+))")
INDICES = re.compile(r"(?<!\w)(\w)_(\w+)")  # of single letters, so that names with underscores stay as they are


def typeset(text: str) -> Html:
    """The text with W_lin, 10^100, e^{kt} and c^(−1/2) as indices and powers, and no line broken after ≤ or ≥.

    >>> typeset("W_lin → e^{2kt} for breast_cancer, t = 10^100 & c^(−1/2)")
    'W<sub>lin</sub> → e<sup>2kt</sup> for breast_cancer, t = 10<sup>100</sup> &amp; c<sup>−1/2</sup>'
    """
    escaped = re.sub("([≤≥]) ", "\\1\u00a0", html.escape(text))
    indexed = INDICES.sub(r"\1<sub>\2</sub>", escaped)
    return Html(POWERS.sub(lambda power: f"<sup>{next(filter(None, power.groups()))}</sup>", indexed))
