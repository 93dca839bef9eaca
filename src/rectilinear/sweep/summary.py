"""What a sweep holds, as text."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .table import failures

if TYPE_CHECKING:
    import xarray


def summary(folder: Path, table: xarray.Dataset) -> str:
    """Axes, how many runs are done, failed and missing, the range of every measure, and why runs failed."""
    axes = table["status"].dims
    sizes = " x ".join(f"{table.sizes[axis]} {axis}" for axis in axes)
    counts = Counter(table["status"].values.ravel().tolist())
    lines = [f"{folder}: {sizes} = {table['status'].size} runs"]
    lines.append("  " + ", ".join(f"{counts[status]} {status}" for status in ("done", "failed", "missing")))
    ends = Counter(end for end in table["ended"].values.ravel().tolist() if end)
    lines.append("  ended: " + (", ".join(f"{count} {end.lower()}" for end, count in ends.most_common()) or "none yet"))
    for axis in axes:
        values = table[axis].values
        lines.append(f"  {axis:<20} {values[0]} to {values[-1]}" if len(values) > 1 else f"  {axis:<20} {values[0]}")
    measures = [name for name in table.data_vars if name not in ("status", "ended")]
    lines += [f"  {name!s:<20} {_range(table[name].values)}" for name in measures]
    if table.attrs.get("versions"):
        lines.append(f"  made by {table.attrs['versions']}")
    reasons = Counter(failure["reason"] for failure in failures(folder))
    lines += [f"  failed {count} times: {reason}" for reason, count in reasons.most_common(5)]
    return "\n".join(lines)


def _range(values: NDArray[np.float64]) -> str:
    known = values[~np.isnan(values)]
    if not known.size:
        return "no numbers yet"
    low, middle, high = known.min(), np.median(known), known.max()
    return f"{low:.4g} to {high:.4g}, median {middle:.4g}"
