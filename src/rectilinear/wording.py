"""Words that agree with their number."""

from __future__ import annotations


def of_number(count: int, one: str, many: str | None = None) -> str:
    """The count with its word, `many` being the plural where an s does not make it.

    >>> of_number(1, "sample"), of_number(2, "sample"), of_number(2, "sample is", "samples are")
    ('1 sample', '2 samples', '2 samples are')
    """
    return f"{count} {one if count == 1 else many or one + 's'}"
