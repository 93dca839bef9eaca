"""Self-contained HTML pages: text, tables and figures in one file that needs neither network nor neighbours."""

from .html import badge, document, figure, table, tag
from .typeset import typeset

__all__ = ["badge", "document", "figure", "table", "tag", "typeset"]
