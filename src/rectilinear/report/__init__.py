"""Self-contained HTML pages: text, tables and figures in one file that needs neither network nor neighbours."""

from .diagnosis import diagnosis_page
from .html import badge, document, figure, table, tag
from .typeset import typeset

__all__ = ["badge", "diagnosis_page", "document", "figure", "table", "tag", "typeset"]
