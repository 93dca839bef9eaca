"""What does happen: gradient flow, kinks and all, and gradient descent."""

from __future__ import annotations

from .descend import descend
from .resume import resume
from .simulate import simulate

__all__ = ["descend", "resume", "simulate"]
