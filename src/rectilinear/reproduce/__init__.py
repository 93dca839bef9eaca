"""The papers as an executable ledger: every statement a Claim that is measured, judged and shown.

A paper is added by a module with a tuple `CLAIMS`, or by another package (see `rectilinear.plugins`).
"""

from __future__ import annotations

from typing import Any

from ..plugins import must_be, plugged_in
from . import kou, phuong_lampert, simon, zhang
from .announce import Announcer
from .claim import Claim, Evidence, Form, Measurement, Picture, Verdict
from .ledger import Entry, Ledger, reproduce
from .papers import Paper, known_papers

CLAIMS: tuple[Claim, ...] = (*zhang.CLAIMS, *kou.CLAIMS, *phuong_lampert.CLAIMS, *simon.CLAIMS)


def known_claims() -> tuple[Claim, ...]:
    """`CLAIMS`, then the claims of other packages."""
    return (*CLAIMS, *plugged_in("claims", [claim.name for claim in CLAIMS], _fault).values())


def _fault(name: str, claim: Any) -> str:
    if wrong := must_be(Claim, name, claim):
        return wrong
    return "" if claim.paper in known_papers() else f"its paper {claim.paper} is not among {', '.join(known_papers())}"


__all__ = [
    "CLAIMS",
    "Announcer",
    "Claim",
    "Entry",
    "Evidence",
    "Form",
    "Ledger",
    "Measurement",
    "Paper",
    "Picture",
    "Verdict",
    "known_claims",
    "reproduce",
]
