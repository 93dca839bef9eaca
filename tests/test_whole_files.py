"""Files are whole or not there, whoever else writes them."""

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import rectilinear as rl
from rectilinear.whole_files import whole_file


def run_of(seed):
    network = rl.Network(2, (40,), alpha=1.0)
    problem = rl.Problem(rl.datasets.six_points(), network, network.init(0.1, seed=seed))
    return rl.simulate(problem, np.linspace(0.0, 1.0, 5))


def save_again_and_again(seed, path):
    run = run_of(seed)
    for _ in range(20):
        run.save(path)
        rl.load(path)  # whoever wrote it last, it is whole
    return run.loss


def test_processes_that_save_the_same_file_do_not_meet(tmp_path):
    path = tmp_path / "run.nc"
    with ProcessPoolExecutor(2) as pool:
        losses = list(pool.map(save_again_and_again, (0, 1), (path, path)))
    assert any(np.array_equal(rl.load(path).loss, loss) for loss in losses)
    assert list(tmp_path.iterdir()) == [path]


def test_what_breaks_off_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "numbers.txt"
    path.write_text("old")

    def interrupted():
        with whole_file(path) as place:
            place.write_text("half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_contents_reach_the_disk_before_the_name_changes(tmp_path, monkeypatch):
    path, order = tmp_path / "numbers.txt", []
    monkeypatch.setattr("os.fsync", lambda handle: order.append("synced"))
    rename = Path.replace
    monkeypatch.setattr(Path, "replace", lambda self, to: (order.append("renamed"), rename(self, to))[1])
    with whole_file(path) as place:
        place.write_text("1 2 3")
    assert order == ["synced", "renamed"]
    assert path.read_text() == "1 2 3"
