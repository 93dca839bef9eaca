"""Work done side by side: every item once, whatever becomes of the processes that do it."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import closing

from rectilinear.crew.processes import THREADS, side_by_side


def doubled(number):
    return 2 * number


def dying_at_three(number):
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def threads(item):
    return [os.environ.get(name) for name in THREADS]


def process_id(item):
    return os.getpid()


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def never(item):
    raise AssertionError(f"{item} was given up")


def results(steps):
    return {item: result for item, result in steps if result is not None}


def test_every_item_begins_once_and_then_ends_once():
    steps = list(side_by_side(doubled, [1, 2, 3, 4, 5], 2, never))
    begun = [item for item, result in steps if result is None]
    assert begun == [1, 2, 3, 4, 5]
    assert results(steps) == {1: 2, 2: 4, 3: 6, 4: 8, 5: 10}
    assert len(steps) == 10
    for item in begun:
        assert steps.index((item, None)) < steps.index((item, 2 * item))


def test_nothing_to_do_starts_nothing():
    assert list(side_by_side(doubled, [], 2, never)) == []


def test_the_work_of_a_process_that_died_is_given_up_and_the_rest_goes_on():
    found = results(side_by_side(dying_at_three, [2, 3, 4], 1, lambda item: f"lost {item}"))
    assert found == {2: 2, 3: "lost 3", 4: 4}


def test_linear_algebra_runs_on_one_thread_so_that_numbers_do_not_depend_on_the_cores():
    before = dict(os.environ)
    assert results(side_by_side(threads, [0], 1, never)) == {0: ["1"] * len(THREADS)}
    assert dict(os.environ) == before


def test_processes_end_when_their_results_are_no_longer_wanted():
    with closing(side_by_side(process_id, [0, 1], 1, never)) as steps:
        pid = next(result for _, result in steps if result is not None)
        assert is_running(pid)
    assert not is_running(pid)


SCRIPT = """
    import os, sys
    sys.path.insert(0, {folder!r})
    from rectilinear.crew.processes import side_by_side
    from test_crew import process_id

    if __name__ == "__main__":
        for _, pid in side_by_side(process_id, range(10), 1, None):
            if pid is not None:
                print(pid, flush=True)
                os._exit(3)  # as if it had been killed
"""


def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT).format(folder=os.path.dirname(__file__)))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    pid = int(done.stdout.split()[0])
    deadline = time.monotonic() + 30.0
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_running(pid)
