"""The papers whose statements are checked."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ..plugins import must_be, plugged_in


class Paper(NamedTuple):
    """A paper; `url` is where it can be read, if anywhere."""

    authors: str
    title: str
    citation: str
    url: str | None = None


ZHANG, KOU, PHUONG_LAMPERT, SIMON = "zhang", "kou", "phuong_lampert", "simon"

PAPERS: dict[str, Paper] = {
    ZHANG: Paper(
        "Zhang, Saxe and Latham",
        "When Are Bias-Free ReLU Networks Effectively Linear Networks?",
        "Y. Zhang, A. Saxe and P. E. Latham, arXiv:2406.12615. Numbers are those of version 1, version 3's in brackets.",
        "https://arxiv.org/abs/2406.12615",
    ),
    KOU: Paper(
        "Kou, Chen and Gu",
        "Implicit Bias of Gradient Descent for Two-layer ReLU and Leaky ReLU Networks on Nearly-orthogonal Data",
        "Y. Kou, Z. Chen and Q. Gu, NeurIPS 2023, arXiv:2310.18935.",
        "https://arxiv.org/abs/2310.18935",
    ),
    PHUONG_LAMPERT: Paper(
        "Phuong and Lampert",
        "The Inductive Bias of ReLU Networks on Orthogonally Separable Data",
        "M. Phuong and C. H. Lampert, ICLR 2021.",
        "https://openreview.net/forum?id=krz7T0xU9Z_",
    ),
    SIMON: Paper(
        "Simon",
        "Shallow bias-free ReLU networks and odd monomials",
        "J. Simon, 2025, an observation outside of the three papers.",
    ),
}


def known_papers() -> dict[str, Paper]:
    """The papers by key: `PAPERS`, then those of other packages."""
    return PAPERS | plugged_in("papers", PAPERS, partial(must_be, Paper))
