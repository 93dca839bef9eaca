"""What to do about a cell that holds no number: how files write what is missing, dates, money, kinds of things."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

EXCEL_ERRORS = ("#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!")
MISSING = {"", "na", "n/a", "nan", "null", "none", "missing", "?", "-", "--", ".", *EXCEL_ERRORS}  # in lower case
GROUPS_OF_THREE = re.compile(r"[-+]?\d{1,3}([,.' \u00a0\u202f]\d{3})+([.,]\d+)?")  # 1,234.5 and 1.234,5 and 1 234
SIGNS = "%$€£¥"  # what stands beside a number
DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}.*|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}.*|\d{1,2}:\d{2}(:\d{2}.*)?|\d{1,2}[-. ]+[A-Za-z]{3,9}[-. ]+\d{2,4}.*"
)
MOST_KINDS = 20  # words in a column from which on they are no kinds of things


def is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def remedy(cell: str, column: Sequence[str], number: Callable[[str], float | None], is_label: bool) -> str:
    """What to do about the `cell` of a `column`, of which `number` makes no finite number."""
    if is_missing(cell) or number(cell) is not None:
        return f"fill it in, or drop the row{'' if is_label else ' or column'}"
    if DATE.fullmatch(cell):
        return "write dates as numbers, e.g. days since the first, or drop the column"
    bare = cell.strip(f"{SIGNS} ")
    signs = cell.replace(bare, "").strip() if bare else ""
    unwanted = [repr(signs)] if signs else []
    if GROUPS_OF_THREE.fullmatch(bare):
        unwanted.append("separators of thousands")
    if unwanted and (number(bare.replace(",", ".")) is not None or GROUPS_OF_THREE.fullmatch(bare)):
        return f"write it without {' and '.join(unwanted)}"
    others = [other for other in column if other != cell]
    if is_label or (others and all(number(other) is not None for other in others)):
        return "write it as a number, or drop the row"
    return _for_words(column, number)


def _for_words(column: Sequence[str], number: Callable[[str], float | None]) -> str:
    kinds = {cell for cell in column if not is_missing(cell)}
    if not 1 < len(kinds) <= MOST_KINDS or len(kinds) == len(column) or any(number(kind) is not None for kind in kinds):
        return "write it as a number, or drop the column"
    if len(kinds) == 2:
        return "write the two kinds as 0 and 1, or drop the column"
    return f"write 0 or 1 into a column for each of the {len(kinds)} kinds (pandas: get_dummies), or drop the column"
