"""The old place of what `measures` and `reduced.class_limit` hold now; it goes with the next release."""

from __future__ import annotations

from ..deprecation import renamed

__getattr__ = renamed(
    __name__,
    {
        "Approach": "measures.limit_distance.Approach",
        "ClassLimit": "reduced.class_limit.ClassLimit",
        "LimitDistance": "measures.limit_distance.LimitDistance",
        "approach": "measures.limit_distance.approach",
        "class_limit": "reduced.class_limit.class_limit",
    },
)
