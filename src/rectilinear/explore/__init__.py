"""The explorer: drag a point of the plane and see the exact training run, in the browser or in a notebook."""

from __future__ import annotations

from .notebook import explore

__all__ = ["explore"]
