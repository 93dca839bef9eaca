"""One version, one list of requirements, one list of interpreters, wherever they are written; what lock files must not hold."""

import re
import tomllib
from pathlib import Path

import pytest

import rectilinear

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CONDA_NAMES = {"matplotlib": "matplotlib-base"}  # conda-forge's name for matplotlib without a window toolkit


def text_of(path):
    if not (ROOT / path).exists():
        pytest.skip(f"{path} is not in the sdist")
    return (ROOT / path).read_text()


def test_the_version_is_that_of_pyproject_everywhere():
    version = PROJECT["version"]
    assert rectilinear.__version__ == version
    assert f"\nversion: {version}\n" in text_of("CITATION.cff")
    assert f"## [{version}]" in text_of("CHANGELOG.md")
    assert f'  version: "{version}"\n' in text_of("packaging/recipe.yaml")


def test_conda_asks_for_what_pyproject_asks_for():
    runs = text_of("packaging/recipe.yaml").partition("\n  run:\n")[2].partition("\n\n")[0]
    asked = {line.strip("- ").replace(" ", "") for line in runs.splitlines()} - {"python>=${{python_min}}"}
    names = {requirement: re.split("[<>=]", requirement)[0] for requirement in PROJECT["dependencies"]}
    assert asked == {text.replace(name, CONDA_NAMES.get(name, name), 1) for text, name in names.items()}


def test_the_wheel_is_tried_on_every_interpreter_that_is_promised():
    promised = [text.rpartition(" ")[2] for text in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", text)]
    assert promised[0] == PROJECT["requires-python"].removeprefix(">=")
    assert f"$(foreach version,{' '.join(promised)}," in text_of("Makefile")


@pytest.mark.parametrize("kind", ["dev", "bench", "dist", "site"])
def test_lock_files_hold_hashes_and_no_addresses(kind):
    lock = text_of(f"requirements/{kind}.txt")
    pins = re.findall(r"^([\w.-]+)==\S+ \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[a-zA-Z]", lock, re.MULTILINE)) > 0
    assert "://" not in lock
    assert not re.search("^-", lock, re.MULTILINE)
