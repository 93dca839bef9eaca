"""The papers as an executable ledger: every statement a Claim that is measured, judged and shown.

A paper is added by a module with a tuple `CLAIMS`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import InputError
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
    "named_claims",
    "reproduce",
]


def named_claims(names: Sequence[str] = ()) -> tuple[Claim, ...]:
    """The claims of these names in the order of the ledger; all of them if none is named.

    >>> [claim.name for claim in named_claims(["gradient_descent", "figure_1"])]
    ['figure_1', 'gradient_descent']
    """
    known = {claim.name for claim in CLAIMS}
    if unknown := [name for name in names if name not in known]:
        raise InputError(f"names must be among {', '.join(claim.name for claim in CLAIMS)}, found {', '.join(unknown)}.")
    return tuple(claim for claim in CLAIMS if not names or claim.name in names)
