"""A fork while other threads are in the midst of a replay: in the child that is over."""

from __future__ import annotations

from collections.abc import Callable

RunPython = Callable[[str], str]

IN_A_REPLAY = """
import os, sys, threading, warnings
import numpy as np
import dvm

inside, leave = threading.Event(), threading.Event()
entered = [False]

def waits(x):
    if entered[0]:
        inside.set()
        leave.wait(20)
    return np.linalg.inv(x)

dvm.annotate(waits, leaf=True, pure=True)

@dvm.compile
def f(x, n):
    y = waits(x)
    for i in range(n):
        y = y * 0.5 + i
    return y + 1

x = np.eye(3)
with dvm.stance("force_capture"):
    for n in (3, 4, 5):
        f(x, n)
assert f.stats.hits > 0
plain = list(warnings.filters)
entered[0] = True
thread = threading.Thread(target=f, args=(x, 4))
thread.start()
inside.wait()
entered[0] = False

def in_the_child():
    assert warnings.filters == plain, warnings.filters
    with dvm.stance("force_capture"):
        for k in (4, 5, 6):
            np.testing.assert_allclose(f(x, k), f.__wrapped__(x, k))
        # Paths of replaced code are freed, and new ones share what they have in common.
        g = dvm.compile(lambda x, c: x * 2 if c else x * 3)
        f.__wrapped__.__code__ = (lambda x, n: x * n).__code__
        np.testing.assert_array_equal(f(x, 4), x * 4)
        np.testing.assert_array_equal(f(x, 5), x * 5)
    assert warnings.filters == plain

child = os.fork()
if child == 0:
    try:
        in_the_child()
    except BaseException:
        import traceback
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
status = os.waitpid(child, 0)[1]
assert len(warnings.filters) > len(plain)  # the parent's replay still is where it was
leave.set()
thread.join()
assert warnings.filters == plain
print(status)
"""

FORKS_ITSELF = """
import os, warnings
import numpy as np
import dvm

forks = [False]

def may_fork(x):
    if forks[0]:
        forks[0] = False
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
            os.environ["FORKED"] = "parent"
        else:
            os.environ["FORKED"] = "child"
    return np.linalg.inv(x)

dvm.annotate(may_fork, leaf=True, pure=True)
f = dvm.compile(lambda x: may_fork(x) * 2)
x, plain = np.eye(3) * 2, list(warnings.filters)
with dvm.stance("force_capture"):
    for _ in range(3):
        f(x)
    forks[0] = True
    np.testing.assert_array_equal(f(x), np.eye(3))
    assert warnings.filters == plain
    np.testing.assert_array_equal(f(x), np.eye(3))
if os.environ["FORKED"] == "child":
    os._exit(0)
print("0")
"""


def test_a_child_goes_on_without_the_replays_of_other_threads(run_python: RunPython) -> None:
    assert run_python(IN_A_REPLAY) == "0\n"


def test_a_replay_that_forks_ends_in_both(run_python: RunPython) -> None:
    assert run_python(FORKS_ITSELF) == "0\n"
