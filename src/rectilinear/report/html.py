"""The few pieces of HTML that pages are made of; texts are escaped, pieces made here are not escaped again."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Sequence
from pathlib import Path

DENSE = 2  # pixels of a figure per pixel of the page, for dense displays
PNG_WIDTH = slice(16, 20)  # bytes of a PNG file
STYLE = (Path(__file__).parent / "style.css").read_text(encoding="utf-8")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *contents: str, **attributes: str) -> Html:
    """An element; `class_` stands for the attribute class.

    >>> tag("p", "1 < 2", tag("b", "!"), class_="note")
    '<p class="note">1 &lt; 2<b>!</b></p>'
    """
    shown = "".join(f' {key.rstrip("_")}="{html.escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{shown}>{''.join(map(_escaped, contents))}</{name}>")


def badge(text: str) -> Html:
    """A small coloured label; the style sheet knows the colours by the text."""
    return tag("span", text, class_=f"badge {text}")


def table(header: Sequence[str], rows: Iterable[Sequence[str]], class_: str = "") -> Html:
    """A table; on narrow screens each cell shows its column's name."""
    head = tag("tr", *(tag("th", cell) for cell in header))
    body = [
        tag("tr", *(tag("td", cell, **{"data-label": name}) for name, cell in zip(header, row, strict=True))) for row in rows
    ]
    return tag("table", tag("thead", head), tag("tbody", *body), class_=class_)


def figure(path: Path, caption: str, shown: str | None = None) -> Html:
    """A PNG file as an image within the page, sharp on dense displays, with its caption as it is `shown` (plain by default)."""
    png = path.read_bytes()
    return picture(png, path.stem, caption, shown, width=int.from_bytes(png[PNG_WIDTH], "big") // DENSE)


def picture(png: bytes, name: str, caption: str, shown: str | None = None, width: int | None = None) -> Html:
    """As `figure`, from the contents of a PNG file; links reach it as #figure-`name`. `width` is that on the page, in CSS pixels."""
    size = "" if width is None else f' width="{width}"'
    data = base64.b64encode(png).decode()
    image = Html(f'<img src="data:image/png;base64,{data}" alt="{html.escape(caption)}"{size}>')
    text = caption if shown is None else shown
    return tag("figure", image, *([tag("figcaption", text)] if text else []), id=f"figure-{name}")


def document(title: str, *contents: str) -> str:
    """A whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{html.escape(title)}</title><style>{STYLE}</style></head>\n"
        f"<body><main>{''.join(map(_escaped, contents))}</main></body></html>\n"
    )


def _escaped(text: str) -> str:
    return text if isinstance(text, Html) else html.escape(text)
