"""The papers as an executable ledger: every statement a Claim that is measured, judged and shown.

A paper is added by a module with a tuple `CLAIMS`.
"""

from __future__ import annotations

from . import kou, phuong_lampert, simon, zhang
from .announce import Announcer
from .claim import Claim, Evidence, Form, Measurement, Picture, Verdict
from .ledger import Entry, Ledger, reproduce

CLAIMS: tuple[Claim, ...] = (*zhang.CLAIMS, *kou.CLAIMS, *phuong_lampert.CLAIMS, *simon.CLAIMS)

__all__ = [
    "CLAIMS",
    "Announcer",
    "Claim",
    "Entry",
    "Evidence",
    "Form",
    "Ledger",
    "Measurement",
    "Picture",
    "Verdict",
    "reproduce",
]
