"""Install a wheel in an empty environment of this interpreter, far from the source; run the README's tour and diagnose a table.

python3.13 packaging/try_wheel.py dist/rectilinear-0.1.0-py3-none-any.whl
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

TABLE = """\
length,mass,speed
1.0,2.5,0.3
-1.5,0.5,-0.2
0.25,-1.0,0.9
2.0,-0.75,0.1
-0.5,1.25,-1.1
"""


def main(wheel: Path) -> None:
    readme = Path(__file__).parents[1] / "README.md"
    with tempfile.TemporaryDirectory() as place:
        room = Path(place)
        venv.create(room / "env", with_pip=True)
        programs = room / "env" / ("Scripts" if sys.platform == "win32" else "bin")

        def run(*command: str | Path) -> str:
            done = subprocess.run(
                [programs / command[0], *command[1:]], cwd=room, check=True, timeout=900, stdout=subprocess.PIPE, text=True
            )
            return done.stdout

        run("pip", "install", "--quiet", wheel.resolve())
        version = run("rectilinear", "--version").split()[-1]
        if version not in wheel.name:
            raise SystemExit(f"{wheel.name} must install its own version, found {version}.")
        run("python", "-m", "doctest", "-o", "ELLIPSIS", "-o", "NORMALIZE_WHITESPACE", readme.resolve())
        (room / "table.csv").write_text(TABLE)
        card = run("rectilinear", "diagnose", "table.csv", "--target", "speed", "--width", "20")
        if "table" not in card:
            raise SystemExit(f"diagnose must speak of the table, found {card!r}.")
        sys.stdout.write(f"{wheel.name} on Python {sys.version.split()[0]}: installed, toured, diagnosed.\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
