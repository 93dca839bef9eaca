"""From `pip install .` to the first picture: seconds on the clock, in an empty environment of this interpreter.

python3.13 packaging/first_picture.py .
"""

import os
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

PICTURE = """
import numpy as np
import rectilinear as rl
net = rl.Network(inputs=2, widths=(50,))
problem = rl.Problem(rl.datasets.six_points(), net, net.init(scale=1e-3, seed=0))
rl.plots.loss_curves(rl.simulate(problem, times=np.linspace(0, 50, 51))).savefig("first.png")
"""


def main(source: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        venv.create(room / "env", with_pip=True)
        programs = room / "env" / ("Scripts" if sys.platform == "win32" else "bin")
        (room / "picture.py").write_text(PICTURE)
        elsewhere = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}

        def seconds(*command: str | Path) -> float:
            before = time.perf_counter()
            subprocess.run([programs / command[0], *command[1:]], cwd=room, env=elsewhere, check=True, timeout=900)
            return time.perf_counter() - before

        installed = seconds("pip", "install", "--quiet", source.resolve())
        first, second = (seconds("python", "picture.py") for _ in range(2))
        if not (room / "first.png").stat().st_size:
            raise SystemExit("the first picture must not be empty.")
        sys.stdout.write(
            f"installed in {installed:.0f} s, first picture after {first:.0f} s more, the next one in {second:.1f} s\n"
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
