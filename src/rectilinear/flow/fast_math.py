"""Which freedoms compiled kernels have with rounding."""

from __future__ import annotations

# Sums may be reordered and multiply-adds fused (that is what makes them fast); nan and inf keep their meaning.
FAST = {"contract", "reassoc", "nsz"}
