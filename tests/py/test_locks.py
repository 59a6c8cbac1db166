"""Locks of module threading in compiled programs: taken as the program takes them, or it runs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

X = np.arange(4.0)
KINDS = [threading.Lock, threading.RLock]
GLOBAL = threading.Lock()


class Counter:
    def __init__(self, lock: Any) -> None:
        self.lock, self.count, self.total = lock, 0, np.zeros(4)
        self.seen: list[int] = []


def add(counter: Counter, x: Any) -> Any:
    with counter.lock:
        counter.count += 1
        counter.total += x
        counter.seen.append(1)
    return x * 2


def add_by_hand(counter: Counter, x: Any) -> Any:
    counter.lock.acquire()
    try:
        counter.count += 1
        counter.total += x
        counter.seen.append(1)
    finally:
        counter.lock.release()
    return x * 2


def work_first(counter: Counter, x: Any) -> Any:
    y = float(np.sin(x).sum()) + counter.count
    y = np.sort(x * y)
    with counter.lock:
        counter.count += 1
        counter.total += y - y + x
        counter.seen.append(1)
    return y


def two_sections(counter: Counter, x: Any) -> Any:
    with counter.lock:
        counter.count += 1
    y = np.linalg.det(np.eye(3) * x[1])
    with counter.lock:
        counter.total += x
        counter.seen.append(1)
    return y


PROGRAMS = [add, add_by_hand, work_first, two_sections]


def is_free(lock: Any) -> bool:
    """Whether another thread can have it."""
    got: list[bool] = []

    def attempt() -> None:
        got.append(lock.acquire(blocking=False))
        if got[0]:
            lock.release()

    thread = threading.Thread(target=attempt)
    thread.start()
    thread.join()
    return got[0]


def compiled(function: Callable[..., Any], *args: Any) -> Any:
    made = dvm.compile(function)
    for _ in range(3):
        made(*args)
    assert made.stats.hits == 2, made.fallback_reasons
    return made


@pytest.fixture
def hasty() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.parametrize(("size", "calls"), [(4, 1000), (50_000, 30)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", PROGRAMS)
@pytest.mark.usefixtures("hasty")
def test_no_update_is_lost(function: Any, kind: Any, size: int, calls: int) -> None:
    made, counter, x = dvm.compile(function), Counter(kind()), np.arange(float(size))
    counter.total = np.zeros(size)
    made(counter, x)

    def run() -> None:
        for _ in range(calls):
            made(counter, x)

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.count == len(counter.seen) == 8 * calls + 1
    assert np.array_equal(counter.total, x * (8 * calls + 1))
    assert is_free(counter.lock)
    # Where another thread has the lock a call runs plain: how many do is for the scheduler to say.
    hits = made.stats.hits
    made(counter, x)
    assert made.stats.hits == hits + 1


def from_closure(lock: Any) -> Any:
    def function(x: Any) -> Any:
        with lock:
            return x + 1

    return function


def from_global(x: Any) -> Any:
    with GLOBAL:
        return x + 1


def from_argument(x: Any, lock: Any) -> Any:
    with lock:
        return x + 1


def from_dict(x: Any, locks: Any) -> Any:
    with locks["one"], locks["more"][0]:
        return x + 1


@pytest.mark.parametrize("kind", KINDS)
def test_locks_are_reached_in_every_way(kind: Any) -> None:
    made = compiled(from_closure(kind()), X)
    assert np.array_equal(made(X), X + 1)
    compiled(from_global, X)
    compiled(from_argument, X, kind())
    compiled(from_dict, X, {"one": kind(), "more": [kind()]})


@pytest.mark.parametrize("function", [*PROGRAMS])
def test_a_new_lock_replays_and_is_the_one_that_is_taken(function: Any) -> None:
    counter = Counter(threading.Lock())
    made = compiled(function, counter, X)
    old = counter.lock
    old.acquire()
    for number in range(5):
        counter.lock = threading.Lock()
        made(counter, X)
        assert made.stats.hits == 3 + number
        assert is_free(counter.lock)
    assert old.locked()
    fresh = Counter(threading.Lock())
    made(fresh, X)
    assert made.stats.hits == 8
    fresh.lock = threading.RLock()  # of another type: another path
    for _ in range(3):
        made(fresh, X)
    assert made.stats.captures == 2
    assert fresh.count == 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", PROGRAMS)
def test_where_another_has_it_the_original_waits(function: Any, kind: Any) -> None:
    counter = Counter(kind())
    made = compiled(function, counter, X)
    counter.lock.acquire()
    done = threading.Event()

    def run() -> None:
        made(counter, X)
        done.set()

    thread = threading.Thread(target=run)
    thread.start()
    assert not done.wait(0.05)
    assert counter.count == 3
    assert np.array_equal(counter.total, 3 * X)
    counter.lock.release()
    thread.join(10)
    assert done.is_set()
    assert counter.count == 4
    assert made.stats.drops == 1
    assert is_free(counter.lock)
    made(counter, X)
    assert made.stats.hits == 3


def test_a_re_entrant_lock_that_the_caller_has() -> None:
    counter = Counter(threading.RLock())
    made = compiled(add, counter, X)
    with counter.lock:
        made(counter, X)
        assert not is_free(counter.lock)
    assert made.stats.hits == 3
    assert is_free(counter.lock)


def test_a_re_entrant_lock_that_is_taken_twice() -> None:
    counter = Counter(threading.RLock())

    def inner(x: Any) -> Any:
        with counter.lock:
            counter.count += 1
            return x + counter.count

    @dvm.compile
    def made(x: Any) -> Any:
        with counter.lock:
            with counter.lock:
                y = inner(x)
            return inner(y)

    for _ in range(4):
        made(X)
    assert made.stats.hits == 3
    assert counter.count == 8
    assert is_free(counter.lock)


def test_nested_locks_are_never_waited_for() -> None:
    one, two = threading.Lock(), threading.Lock()
    count = np.zeros(1)

    @dvm.compile
    def forth(x: Any) -> Any:
        with one, two:
            count[0] += 1
        return x + 1

    @dvm.compile
    def back(x: Any, first: Any, second: Any) -> Any:
        with first, second:
            count[0] += 1
        return x + 1

    for _ in range(3):
        forth(X)
        back(X, one, two)
    two.acquire()
    thread = threading.Thread(target=lambda: forth(X))
    thread.start()
    while not one.locked():  # by the original, which waits for the other
        pass
    two.release()
    thread.join()
    assert forth.stats.drops == 1
    assert count[0] == 7
    assert not one.locked()
    assert not two.locked()


def test_locks_that_were_two_and_are_one() -> None:
    @dvm.compile
    def made(x: Any, first: Any, second: Any) -> Any:
        with first:
            x = x + 1
        with second:
            return x + 1

    one, two = threading.Lock(), threading.Lock()
    for _ in range(3):
        made(X, one, two)
        made(X, one, one)
    assert made.stats.hits == 4
    assert made.stats.captures == 2
    assert not one.locked()
    assert not two.locked()


def failing(counter: Counter, x: Any, y: Any) -> Any:
    with counter.lock:
        counter.count += 1
        counter.total += x
        return x + y


def test_an_exception_within_lets_go() -> None:
    counter = Counter(threading.Lock())
    made = compiled(failing, counter, X, X)
    with pytest.raises(ValueError, match="broadcast"):
        made(counter, X, np.ones(3))
    assert is_free(counter.lock)
    assert counter.count == 4
    made(counter, X, X)
    assert counter.count == 5


def test_an_exception_that_is_caught() -> None:
    lock = threading.Lock()

    @dvm.compile
    def made(x: Any, text: str) -> Any:
        try:
            with lock:
                if text:
                    raise ValueError(text)
                return x + 1
        except ValueError as error:
            return str(error)

    for _ in range(3):
        assert made(X, "so") == "so"
        assert made(X, "")[0] == 1
        assert not lock.locked()
    assert made.stats.hits == 4


def test_an_effect_that_raises_lets_go() -> None:
    class Full(list):  # type: ignore[type-arg]
        pass

    lock, target = threading.Lock(), np.zeros(4)

    @dvm.compile
    def made(x: Any, where: dict[str, Any]) -> Any:
        with lock:
            where["a"] = 1
            target[:] = x
        return x + 1

    for _ in range(3):
        made(X, {})
    target.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        made(X, {})
    assert not lock.locked()


def test_what_may_wait_for_the_lock_is_not_called_while_a_replay_holds_it() -> None:
    lock = threading.Lock()

    @dvm.annotate(leaf=True, pure=True)
    def unseen(x: Any) -> float:
        with lock:
            return float(x.sum())

    def before(x: Any) -> Any:
        y = unseen(x)
        with lock:
            return x + y

    def behind(x: Any) -> Any:
        with lock:
            y = x + 1
        return unseen(y)

    for function in (before, behind):
        made = dvm.compile(function)
        for _ in range(3):
            assert np.array_equal(made(X), function(X))
        assert "beside it" in made.fallback_reasons[0]
        assert not lock.locked()


def test_a_call_within_is_made_under_the_lock() -> None:
    lock, held = threading.Lock(), []

    @dvm.annotate(leaf=True, pure=True)
    def unseen(x: Any) -> float:
        held.append(lock.locked())
        return float(x.sum())

    @dvm.compile
    def made(x: Any) -> Any:
        with lock:
            return x + unseen(x)

    for _ in range(4):
        made(X)
    assert made.stats.hits == 3
    assert held == [True] * 4
    assert not lock.locked()


def left_taken(lock: Any, x: Any) -> Any:
    lock.acquire()
    return x + 1


def let_go(lock: Any, x: Any) -> Any:
    y = x + 1
    lock.release()
    return y


def not_had(lock: Any, x: Any) -> Any:
    return x + 1 if lock.acquire(blocking=False) else x


def test_what_is_left_to_the_original() -> None:
    lock = threading.Lock()
    for _ in range(3):
        made = dvm.compile(left_taken)
        made(lock, X)
        assert lock.locked()
        assert "held when" in made.fallback_reasons[0]
        made = dvm.compile(not_had)
        assert made(lock, X)[0] == 0
        assert "not to be had" in made.fallback_reasons[0]
        made = dvm.compile(let_go)
        made(lock, X)
        assert not lock.locked()
        assert "has not taken" in made.fallback_reasons[0]


@pytest.mark.parametrize("given", [(), (True,), (False,), (True, 5)])
def test_ways_of_acquiring(given: tuple[Any, ...]) -> None:
    lock = threading.Lock()

    def function(x: Any) -> Any:
        if not lock.acquire(*given):
            return None
        try:
            return x + 1
        finally:
            lock.release()

    made = compiled(function, X)
    if given == (False,):
        with lock:
            assert made(X) is None
    assert not lock.locked()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", PROGRAMS)
def test_whatever_fails_the_lock_is_free(function: Any, kind: Any) -> None:
    counter = Counter(kind())
    expected = function(counter, X) if function is not work_first else None
    failed = 0
    for number in range(300):
        made = compiled(function, counter, X)
        before = counter.count
        _dvm.fail_at(number)
        try:
            result = made(counter, X)
        finally:
            reached = _dvm.fail_at(-1) < 0
        assert is_free(counter.lock)
        assert counter.count == len(counter.seen) == before + 1
        assert np.array_equal(counter.total, X * counter.count)
        assert expected is None or np.array_equal(result, expected)
        if not reached:
            break
        failed += made.stats.drops
    else:
        pytest.fail("a replay makes too many requests")
    assert failed > 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_guard_that_fails_behind_it_lets_go(kind: Any) -> None:
    counter = Counter(kind())

    @dvm.compile
    def made(counter: Counter, x: Any) -> Any:
        with counter.lock:
            if counter.count > 2:
                counter.count = 0
            counter.count += 1
            return x + counter.count

    for _ in range(12):
        made(counter, X)
        assert is_free(counter.lock)
    assert made.stats.captures == 2
    assert made.stats.hits == 10
    made.why_recompiled()
    assert is_free(counter.lock)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", PROGRAMS)
def test_whatever_the_interpreter_lacks_memory_for_the_lock_is_free(
    function: Any, kind: Any
) -> None:
    testcapi = pytest.importorskip("_testcapi")
    for number in range(25):
        counter = Counter(kind())
        made = compiled(function, counter, X)
        testcapi.set_nomemory(number, number + 1)
        try:
            made(counter, X)
        except MemoryError:
            pass
        finally:
            testcapi.remove_mem_hooks()
        assert is_free(counter.lock)
        assert counter.count in (3, 4)


@pytest.mark.parametrize("kind", [threading.Condition, threading.Semaphore])
def test_what_module_threading_makes_of_locks(kind: Any) -> None:
    guard, count = kind(), np.zeros(1)

    def function(x: Any) -> Any:
        with guard:
            count[0] += 1
        return x + 1

    made = compiled(function, X)

    def run() -> None:
        for _ in range(200):
            made(X)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count[0] == 803
    assert made.stats.hits > 100
