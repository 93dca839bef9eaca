"""The few ways in which Rectilinear refuses; every message says what was required, what was found and what to do."""

from __future__ import annotations


class RectilinearError(Exception):
    """Base of every error this package raises on purpose."""


class InputError(RectilinearError, ValueError):
    """An argument, a data set or a set of weights that cannot be used as it is."""


class HypothesisError(RectilinearError):
    """A theorem was asked for although one of its hypotheses fails."""


class FlowError(RectilinearError):
    """A simulation that cannot go on."""


class FileError(RectilinearError):
    """A file that cannot be read as what it claims to be."""
