"""How many threads compute, how work is shared among them, and how many BLAS gets."""

import os

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import rectilinear as rl
from rectilinear.flow import threads
from rectilinear.flow.threads import SETTING, blas_threads, in_shares, shares, workers

MUCH = 1e12  # multiply-adds: worth every thread


@pytest.fixture(autouse=True)
def no_settings(monkeypatch):
    for name in (SETTING, "SLURM_CPUS_PER_TASK"):
        monkeypatch.delenv(name, raising=False)


def test_the_setting_comes_before_the_scheduler_and_that_before_the_processors(monkeypatch):
    if hasattr(os, "sched_getaffinity"):
        assert workers() == len(os.sched_getaffinity(0))
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "5")
    assert workers() == 5
    monkeypatch.setenv(SETTING, "3")
    assert workers() == 3


@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5"])
def test_a_setting_that_is_no_number_of_threads_is_refused(monkeypatch, value):
    monkeypatch.setenv(SETTING, value)
    with pytest.raises(rl.InputError) as refusal:
        workers()
    assert str(refusal.value) == (
        f"RECTILINEAR_THREADS must be a positive whole number, found '{value}'; correct or unset it."
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("number", ["1", "2", "7"])
def test_shares_are_consecutive_and_in_order(monkeypatch, count, number):
    monkeypatch.setenv(SETTING, number)
    parts = in_shares(lambda begin, end: list(range(begin, end)), count, MUCH)
    assert len(parts) == max(1, min(int(number), count))
    assert [k for part in parts for k in part] == list(range(count))


def test_little_work_is_not_shared_nor_is_work_within_a_share(monkeypatch):
    monkeypatch.setenv(SETTING, "4")
    assert shares(100, threads.THREAD_WORK - 1) == 1
    assert shares(100, threads.THREAD_WORK) == 4
    assert in_shares(lambda begin, end: shares(100, MUCH), 4, MUCH) == [1, 1, 1, 1]
    assert shares(100, MUCH) == 4


def test_an_error_in_a_share_reaches_the_caller(monkeypatch):
    monkeypatch.setenv(SETTING, "2")

    def failing(begin, end):
        if begin:
            raise rl.FlowError("the second share fails.")

    with pytest.raises(rl.FlowError, match="the second share fails"):
        in_shares(failing, 2, MUCH)
    assert shares(2, MUCH) == 2


def blas_counts():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


def test_blas_computes_small_products_on_one_thread_and_large_ones_on_what_it_has(monkeypatch):
    np.linalg.inv(np.eye(3))  # the library is loaded
    with threadpool_limits(2, user_api="blas"):
        for work, number, expected in ((1.0, "8", {1}), (MUCH, "8", {2}), (MUCH, "1", {1})):
            monkeypatch.setenv(SETTING, number)
            with blas_threads(work):
                assert blas_counts() == expected
            assert blas_counts() == {2}
