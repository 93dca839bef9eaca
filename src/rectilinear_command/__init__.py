"""What `rectilinear` runs: the command line, from before its second of imports on, which the user may interrupt."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """The command line; interrupted while it is imported, it ends with a sentence too."""
    try:
        from rectilinear.cli import main as command_line
    except KeyboardInterrupt:
        sys.stderr.write("interrupted before anything was begun\n")
        sys.exit(INTERRUPTED)
    command_line(prog_name="rectilinear")
