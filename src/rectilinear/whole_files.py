"""Files that are whole or not there: written beside their place, synced, and then renamed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import uuid4

STALE = 3600.0  # seconds without a change, after which nobody is writing any more


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A place of its own to write to, which becomes `path` when the block ends without an error, and vanishes otherwise.

    Its name is unique, so that processes that write the same file do not meet: the last one to finish is kept, whole. The
    contents reach the disk before the rename, so that a power cut leaves the old file or the new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with whole_file(Path(folder) / "numbers.txt") as place:
    ...         _ = place.write_text("1 2 3")
    ...     os.listdir(folder)
    ['numbers.txt']
    """
    place = path.with_name(f".{path.name}.{uuid4().hex}.part")
    try:
        yield place
        with place.open("rb+") as written:
            os.fsync(written.fileno())
        place.replace(path)
    finally:
        place.unlink(missing_ok=True)


def remove_stale(*folders: Path) -> None:
    """Remove what processes that were killed while they wrote have left in these folders, an hour after the last change.

    By age, not by process: those of other machines may share the folder.
    """
    for folder in folders:
        for place in folder.glob(".*.part"):
            with suppress(OSError):  # another process removes or finishes it
                if time.time() - place.stat().st_mtime > STALE:
                    place.unlink()
