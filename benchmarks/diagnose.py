"""What a diagnosis of many samples costs: seconds of processor time and peak memory, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from .report import Report

SAMPLES, INPUTS, WIDTH = 100_000, 50, 500
CASES = {
    "regression": "x = rng.standard_normal((n, d)); y = x @ rng.standard_normal(d) + rng.standard_normal(n)",
    "two classes": "x = rng.standard_normal((n, d)); y = np.sign(x[:, 0] + 0.1 * rng.standard_normal(n))",
    "separable classes": "x = rng.standard_normal((n, d)); y = np.sign(x[:, 0])",
    "exactly symmetric": "x = mirrored(rng.standard_normal((n // 2, d))); y = np.sin(x[:, 0])",
    "symmetric up to jitter": (
        "x = mirrored(rng.standard_normal((n // 2, d))); y = x[:, 0] + np.sin(x[:, 0]); "
        "x = x + 1e-3 * rng.standard_normal((n, d))"
    ),
    "a few points, repeated": "x = rng.standard_normal((100, d))[rng.integers(0, 100, n)]; y = x[:, 0]",
}
SCRIPT = """
import json, resource, sys, time
import numpy as np
import rectilinear as rl
n, d, width = {samples}, {inputs}, {width}
rng = np.random.default_rng(0)
mirrored = lambda half: np.concatenate([half, -half])
{case}
net = rl.Network(inputs=d, widths=(width,))
problem = rl.Problem(rl.Dataset(x, y), net, net.init(scale=1e-3, seed=0))
before, clock = time.process_time(), time.perf_counter()
found = rl.diagnose(problem)
print(json.dumps(dict(
    seconds=time.process_time() - before,
    wall_seconds=time.perf_counter() - clock,
    peak_bytes=1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    unpaired=found.symmetry.unpaired,
    even_p=found.symmetry.even_p,
    theorems=[reading.theorem.name for reading in found.applicable],
)))
"""


def run(folder: Path) -> dict[str, Any]:
    """Diagnose every case; the goal is 20 seconds and 2 GB."""
    report = Report("diagnose", folder)
    rows = {name: measured(case) for name, case in CASES.items()}
    report.table(
        f"diagnose {SAMPLES:,} samples x {INPUTS} inputs, width {WIDTH}",
        ["data", "processor s", "wall s", "peak GB", "unpaired", "p (even)"],
        [
            [
                name,
                f"{row['seconds']:.1f}",
                f"{row['wall_seconds']:.1f}",
                f"{row['peak_bytes'] / 1e9:.2f}",
                f"{row['unpaired']:.3g}",
                f"{row['even_p']:.3g}",
            ]
            for name, row in rows.items()
        ],
    )
    report.save({"cases": rows})
    return rows


def measured(case: str, samples: int = SAMPLES) -> dict[str, Any]:
    """The cost of one case in a fresh process, so that the peak of memory is its own."""
    script = SCRIPT.format(samples=samples, inputs=INPUTS, width=WIDTH, case=case)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))
