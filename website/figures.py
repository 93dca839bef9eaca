"""The figures of a gallery script. Ours are made without pyplot, so they are found among the script's variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from PIL import Image

RESOLUTION = 110  # dots per inch

_shown: WeakSet[Figure] = WeakSet()


def figures_of_block(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save what the block drew, figures and GIF files that it names, and give the text that shows them."""
    from sphinx_gallery.scrapers import figure_rst

    places = variables["image_path_iterator"]
    paths = []
    for value in list(variables["example_globals"].values()):
        if isinstance(value, Figure) and value not in _shown:
            _shown.add(value)
            path = next(places)
            value.savefig(path, dpi=RESOLUTION)
            paths.append(path)
        elif isinstance(value, Path) and value.suffix == ".gif" and value.exists():
            path = str(Path(next(places)).with_suffix(".gif"))
            Path(path).write_bytes(value.read_bytes())
            with Image.open(value) as moving:
                moving.seek(moving.n_frames - 1)
                moving.convert("RGB").save(Path(path).with_suffix(".png"))  # thumbnails are made of it
            value.unlink()
            paths.append(path)
    return figure_rst(paths, settings["src_dir"])
