"""What a failure of a step comes to, and who owns what."""

from __future__ import annotations

import gc
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dvm import _dvm
from replay_paths import SCOPE, Runs, Steps, Thing, X, compute, double, installed, run_step


def fails(error: type[BaseException]) -> Callable[[Any], Any]:
    def callee(x: Any) -> Any:
        if x:
            raise error("from the callee")
        return x

    return callee


def test_exceptions_before_the_commit_drop_and_interrupts_pass() -> None:
    for error, passes in ((ValueError, False), (KeyboardInterrupt, True), (SystemExit, True)):
        runs = Runs(
            [
                ("argument", 0, 0),
                ("constant", 1, fails(error)),
                ("call", 2, 1, [0], ()),
                ("commit",),
                ("set_variable", SCOPE, "seen", 2),
                ("return", 2),
            ],
            0,
        )
        assert runs(0) == 0
        SCOPE.pop("seen")
        if passes:
            with pytest.raises(error):
                runs(1)
        else:
            assert runs(1) == "original"
        assert "seen" not in SCOPE
        assert runs.stats.drops == (not passes)


def test_a_fallback_is_counted_with_its_reason() -> None:
    runs = Runs([("argument", 0, 0), ("fallback", "no way", ("file.py", 3))], 1)
    assert runs(1) == "original"
    assert runs.stats.fallbacks == 2
    assert runs.compiled.fallback_reasons == ["file.py:3: no way"]


def test_nothing_warns_before_the_commit() -> None:
    """NumPy's warnings drop the replay; the original then warns, once."""
    zero = np.zeros(2)
    for step in (("operator", 2, "/", 0, 1), ("call", 2, 3, [0, 1], ())):
        runs = Runs(compute(("constant", 3, np.divide), step, result=2), X[:2], X[:2])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            np.testing.assert_array_equal(runs(X[:2], X[:2]), [1, 1])
            assert runs(X[:2], zero) == "original"
            assert runs.stats.drops == 1
            with np.errstate(divide="ignore"):
                assert np.isinf(runs(X[:2], zero)).all(), "ignored by the program itself"
            assert np.geterr()["divide"] == "warn", "the state is the program's own again"
    committed = Runs(
        compute(("constant", 3, np.divide), ("commit",), ("effect", 2, 3, [0, 1], ()), result=2),
        X[:2], X[:2],
    )  # fmt: skip
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        committed(X[:2], zero)


def test_python_warnings_before_the_commit_drop() -> None:
    def callee(x: Any) -> Any:
        warnings.warn("from the callee", UserWarning, stacklevel=1)
        return x

    runs = Runs(
        [("argument", 0, 0), ("constant", 1, callee), ("call", 2, 1, [0], ()), ("return", 2)], X
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        before = warnings.filters
        assert runs(X) == "original"
        assert warnings.filters is before
        assert seen == []
        assert runs.stats.drops == 1
        warnings.simplefilter("ignore", UserWarning)
        assert runs(X) is X
        warnings.filterwarnings("default", "from the", UserWarning)
        assert runs(X) == "original"
        warnings.filterwarnings("ignore", "from the", UserWarning)
        assert runs(X) is X
        assert seen == []


def test_other_threads_warn_as_ever() -> None:
    inside, done = threading.Event(), threading.Event()

    def callee(x: Any) -> Any:
        inside.set()
        assert done.wait(10)
        return x

    runs = Runs(
        [("argument", 0, 0), ("constant", 1, callee), ("call", 2, 1, [0], ()), ("return", 2)], X
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        thread = threading.Thread(target=runs, args=(X,))
        thread.start()
        assert inside.wait(10)
        warnings.warn("of another thread", UserWarning, stacklevel=1)
        done.set()
        thread.join()
    assert [str(warning.message) for warning in seen] == ["of another thread"]
    assert runs.stats.hits == 1


@pytest.mark.parametrize("made", [np.random.default_rng, np.random.RandomState, None])
def test_draws_are_taken_back(made: Callable[[int], Any] | None) -> None:
    owner = made(0) if made else np.random
    draw = owner.normal
    if made is None:
        np.random.seed(0)

    def steps(*end: tuple[Any, ...]) -> Steps:
        return [
            ("argument", 0, 0),
            ("constant", 1, draw),
            ("constant", 6, owner),
            ("call_random", 2, 1, [], (), 6),
            ("call_random", 3, 1, [], (), 6, True),
            ("tuple", 4, [2, 3]),
            *end,
            ("return", 4),
        ]

    kept = Runs(steps(), 1)
    twin = made(0) if made else np.random.RandomState(0)
    assert kept(1) == (twin.normal(), twin.normal())
    assert kept.stats.opaque == 1
    missed = Runs(steps(("guard_truth", 0, True)), 1)
    dropped = Runs(steps(("operator", 5, "/", 0, 0)), 1)
    assert missed(0) == dropped(0) == "original"
    assert kept(1) == (twin.normal(), twin.normal()), "as if nothing had been drawn"


# ---- ownership


def test_references_are_balanced() -> None:
    made, (value,) = double()
    text = "a text that nothing else refers to".upper()
    probe = [np.ones(3), text, 12345.5, Thing(1), {}]
    hit = Runs(
        [
            *(("argument", i, i) for i in range(3)),
            run_step((made, []), (value, 3, "array")),
            ("tuple", 4, [1, 2, 3]),
            ("guard_type", 1, str),
            ("operator", 5, "/", 2, 2),
            ("commit",),
            ("return", 4),
        ],
        *probe[:3],
    )
    calls = [
        tuple(probe[:3]),  # hit
        (probe[0], probe[3], probe[2]),  # miss
        (probe[0], probe[1], 0.0),  # drop
        (probe[4], probe[1], probe[2]),  # drop: no array
    ]
    for arguments in calls * 3:
        hit(*arguments)
    before = [sys.getrefcount(x) for x in probe]
    while gc.collect():  # what earlier tests left may take several rounds
        pass
    objects = len(gc.get_objects())
    for _ in range(200):
        for arguments in calls:
            hit(*arguments)
    gc.collect()
    assert [sys.getrefcount(x) for x in probe] == before
    assert abs(len(gc.get_objects()) - objects) < 20
    assert hit.stats.hits > 200
    assert hit.stats.drops > 400


def test_a_path_keeps_no_example_and_is_collected() -> None:
    class Big(np.ndarray): ...

    example = np.ones(3).view(Big)
    count = sys.getrefcount(example)
    steps = [("argument", 0, 0), ("guard_signature", 0, example), ("return", 0)]
    runs = Runs(steps, example)
    del steps, runs.steps
    gc.collect()
    assert sys.getrefcount(example) == count

    import weakref

    class Holder: ...

    holder = Holder()
    compiled = installed(lambda: None, [("constant", 0, holder), ("return", 0)])
    holder.compiled = compiled  # type: ignore[attr-defined]
    gone = weakref.ref(holder)
    del holder, compiled
    gc.collect()
    assert gone() is None, "a cycle through a path is found"


def test_values_are_forgotten_when_nothing_reads_them() -> None:
    alive = 0

    class Counted:
        def __init__(self, _: Any = None) -> None:
            nonlocal alive
            alive += 1

        def __del__(self) -> None:
            nonlocal alive
            alive -= 1

    most: list[int] = []

    def turn(x: Any) -> Counted:
        most.append(alive)
        return Counted(x)

    steps: Steps = [("argument", 0, 0), ("constant", 1, turn)]
    for i in range(10):
        steps.append(("call", 2 + i, 1, [0 if i == 0 else 1 + i], ()))
    runs = Runs([*steps, ("return", 0)], 1)
    most.clear()
    runs(1)
    assert max(most) <= 2
    assert alive == 0
    assert "forget" in _dvm.paths(runs.compiled)[0]["steps"]


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [("argument", 0, 0)],
        [("nonsense", 0), ("return", 0)],
        [("argument", 0, 5), ("return", 0)],
        [("return", 0)],
        [("argument", 0, 0), ("argument", 0, 0), ("return", 0)],
        [("argument", 0, 0), ("operator", 1, "?", 0), ("return", 0)],
        [("argument", 0), ("return", 0)],
        [("argument", 0, 0, 0), ("return", 0)],
        [("cell", 0, 3), ("return", 0)],
        [("argument", 0, 0), ("dict", 1, [0]), ("return", 0)],
    ],
    ids=str,
)
def test_broken_steps_are_found_when_they_are_installed(steps: Steps) -> None:
    if not steps:
        assert Runs(steps, 1)(1) == "original", "no steps: the original, for calls like this one"
        return
    with pytest.raises(_dvm.InternalError):
        Runs(steps, 1)
