"""Film: frames of one figure, as a file or as a player in a notebook."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import FileError, path_of
from ..whole_files import whole_file

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from PIL.Image import Image

KINDS = (".gif", ".mp4", ".html")
COLOURS = 128  # of a frame in the player; more are not seen
PLAYER = Template((Path(__file__).parent / "player.html").read_text(encoding="utf-8"))


@dataclass(frozen=True, eq=False, repr=False)
class Film:
    """`count` frames that `draw(k)` puts on `panels` of `figure`, to be shown in `seconds`; a notebook shows it as a player.

    Axes, labels and all that is outside of the panels must stay the same: they are drawn once.
    """

    figure: Figure
    panels: Sequence[Axes]
    draw: Callable[[int], None]
    count: int
    seconds: float

    def __repr__(self) -> str:
        return f"Film: {self.count} frames in {self.seconds:g} s; .save('name.gif') writes it, also .mp4 or .html"

    def save(self, path: str | Path, *, dpi: int = 100) -> Path:
        """Write the film: .gif, .mp4 (where ffmpeg is installed) or .html (a player that needs nothing else)."""
        path = path_of(path, "path")
        if path.suffix.lower() not in KINDS:
            raise FileError(f"{path.name}: a name that ends in .gif, .mp4 or .html is required.")
        if not path.parent.is_dir():
            raise FileError(f"{path.parent}: no such folder to save in; create it first.")
        if path.suffix.lower() == ".mp4" and not _ffmpeg_is_there():
            raise FileError(f"{path.name}: ffmpeg is needed for .mp4, and is not installed; save it as .gif or .html.")
        write = {".gif": self._write_gif, ".mp4": self._write_mp4, ".html": self._write_page}[path.suffix.lower()]
        try:
            with whole_file(path) as place:
                write(place, dpi)
        except OSError as error:
            raise FileError(f"{path}: the film could not be written ({error}); choose another place.") from error
        return path

    def _write_gif(self, path: Path, dpi: int) -> None:
        first, *others = (frame.quantize(256) for frame in self._frames(dpi))
        first.save(path, format="GIF", save_all=True, append_images=others, duration=self._milliseconds, loop=0)

    def _write_mp4(self, path: Path, dpi: int) -> None:
        from matplotlib.animation import FFMpegWriter

        writer = FFMpegWriter(fps=round(1000 / self._milliseconds), extra_args=["-f", "mp4", "-pix_fmt", "yuv420p"])
        with writer.saving(self.figure, str(path), dpi):
            for k in range(self.count):
                self.draw(k)
                writer.grab_frame()

    def _write_page(self, path: Path, dpi: int) -> None:
        page = f'<!doctype html>\n<meta charset="utf-8">\n<title>Film</title>\n{self._player(dpi)}\n'
        path.write_text(page, encoding="utf-8")

    def _repr_html_(self) -> str:
        return self._shown

    @cached_property
    def _shown(self) -> str:
        return self._player(dpi=100)

    def _player(self, dpi: int) -> str:
        pictures = []
        for frame in self._frames(dpi):
            file = BytesIO()
            frame.quantize(COLOURS).save(file, format="PNG", optimize=True)
            pictures.append(f'"data:image/png;base64,{b64encode(file.getvalue()).decode()}"')
        return PLAYER.substitute(
            name=f"film-{id(self):x}", frames=",".join(pictures), last=self.count - 1, milliseconds=self._milliseconds
        )

    @property
    def _milliseconds(self) -> int:
        return max(round(1000 * self.seconds / self.count), 20)  # faster than that no viewer goes

    def _frames(self, dpi: int) -> Iterator[Image]:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from PIL import Image

        before = self.figure.dpi
        canvas: Any = FigureCanvasAgg(self.figure)
        try:
            self.figure.set_dpi(dpi)
            _set_visible(still := self._moving(), False)
            canvas.draw()
            background = canvas.copy_from_bbox(self.figure.bbox)
            _set_visible(still, True)
            for k in range(self.count):
                self.draw(k)
                canvas.restore_region(background)
                for artist in self._moving():
                    artist.draw(canvas.get_renderer())
                yield Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
        finally:
            self.figure.set_dpi(before)

    def _moving(self) -> list[Artist]:
        """All that is inside of the panels, from below to above; their x and y axes are not."""
        return [
            artist
            for panel in self.panels
            for artist in sorted(panel.get_children(), key=lambda one: one.get_zorder())
            if artist not in (panel.patch, panel.xaxis, panel.yaxis) and artist.get_visible()
        ]


def _set_visible(artists: Sequence[Artist], visible: bool) -> None:
    for artist in artists:
        artist.set_visible(visible)


def _ffmpeg_is_there() -> bool:
    from matplotlib.animation import FFMpegWriter

    return bool(FFMpegWriter.isAvailable())
