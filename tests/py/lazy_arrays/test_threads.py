"""Lazy arrays in several threads: each has a buffer, and arrays go from one to the other."""

import threading

import numpy as np

import dvm
import dvm.lazy as xp

from .comparing import assert_same


def in_threads(count, work):
    failures = []

    def run(k):
        try:
            work(k)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def test_threads_compute_for_themselves():
    def work(k):
        for n in (3, 50_000):
            x = dvm.asarray(np.full(n, float(k)))
            for _ in range(20):
                y = xp.sqrt(x * x) + 1
                assert float(xp.mean(y)) == k + 1

    in_threads(4, work)


def test_what_one_thread_has_pending_others_read():
    shared = [dvm.asarray(np.full(100_000, 1.0)) + k for k in range(40)]

    def work(k):
        for j, x in enumerate(shared):
            assert float(xp.max(x * 2)) == 2 * (1 + j)
            if k == 0:
                shared[j] = x + 0

    in_threads(4, work)


def test_what_a_thread_left_pending_is_computed_after_its_end():
    made = []
    in_threads(3, lambda k: made.append((k, dvm.asarray([1.0]) + k)))
    assert made[0][1].is_pending
    for k, x in made:
        assert_same(x + 0, np.array([1.0 + k]))


def test_arrays_change_in_place_while_others_read():
    x = dvm.asarray(np.zeros(50_000))

    def work(k):
        for _ in range(30):
            if k == 0:
                x.__iadd__(1)
            else:
                seen = np.asarray(x * 1)
                assert seen.min() == seen.max()

    in_threads(3, work)
    assert float(x[0]) == 30
