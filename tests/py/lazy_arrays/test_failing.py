"""What becomes of a flush in which something fails."""

import signal

import numpy as np
import pytest

import dvm
import dvm.lazy as xp

from .comparing import assert_same


def lines(rank):
    """So many arrays of one line of ones each, which broadcast to more than fits anywhere."""
    line = np.broadcast_to(np.ones(1), (10**8,))
    shapes = [tuple(-1 if d == k else 1 for d in range(rank)) for k in range(rank)]
    return [dvm.asarray(line.reshape(shape), copy=False) for shape in shapes]


@pytest.mark.parametrize("rank", [2, 3])
def test_what_does_not_fit_into_memory_is_told_to_who_asks_for_it(rank):
    large = sum(lines(rank))
    small = dvm.asarray([1.0]) + 1
    shared = small * 3
    for _ in range(2):
        with pytest.raises(MemoryError):
            repr(large)
    assert_same(shared, np.full(1, 6.0))
    assert float((small + 1)[0]) == 3
    assert large.is_pending
    later = large * 2
    dvm.flush()
    assert (large.is_pending, later.is_pending, small.is_pending) == (True, True, False)
    with pytest.raises(MemoryError):
        repr(later)
    for k in range(300):
        small = small + k
    assert float(small[0]) == 2 + sum(range(300))
    del large, later
    assert dvm.lazy.last_flush().reason == "float()"


def test_what_cannot_be_computed_is_told_each_time_and_harms_no_other():
    held = np.ones(3)
    x, y = dvm.asarray(held, copy=False), dvm.asarray(np.ones(3))
    wrong, right = x + y, y - 1
    held.resize(5, refcheck=False)
    later = wrong * right
    for made in (wrong, later, wrong):
        with pytest.raises(dvm.ShapeError, match="another shape"):
            repr(made)
        assert made.is_pending
    assert not right.is_pending
    for k in range(300):
        right = right + k
    assert_same(right, np.full(3, float(sum(range(300)))))
    dvm.flush()
    assert (wrong.shape, later.dtype) == ((3,), np.float64)
    del wrong, later, made
    assert_same(xp.sum(y), np.array(3.0))


def test_a_signal_during_a_flush_harms_nothing():
    class StoppedError(Exception):
        pass

    def ring(*_):
        raise StoppedError

    def run():
        signal.setitimer(signal.ITIMER_REAL, 0.005)
        while True:
            dvm.flush()

    x = dvm.asarray(np.full(200_000, 0.5))
    for _ in range(100):
        x = xp.sin(x)
    small = dvm.asarray([1.0]) + 1
    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(StoppedError):
            run()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    wanted = np.full(1, 0.5)
    for _ in range(100):
        wanted = np.sin(wanted)
    assert_same(x[:1], wanted)
    assert_same(small, np.full(1, 2.0))
