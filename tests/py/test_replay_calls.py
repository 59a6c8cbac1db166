"""The callable around the paths: binding, copies, threads, limits, explanations."""

from __future__ import annotations

import copy
import functools
import os
import pickle
import threading
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm
from replay_paths import Runs, Steps, X, double, installed, lowered


def everything(
    a: Any, b: Any = 2, /, c: Any = 3, *rest: Any, k: Any, m: Any = 5, **named: Any
) -> Any:
    return a, b, c, rest, k, m, named


def slots(count: int) -> Steps:
    steps: Steps = [("argument", i, i) for i in range(count)]
    return [*steps, ("tuple", count, list(range(count))), ("return", count)]


def in_slot_order(value: Any) -> Any:
    """`everything` returns its locals as the user sees them; the slots have *rest behind m."""
    a, b, c, rest, k, m, named = value
    return a, b, c, k, m, rest, named


def test_arguments_are_bound_as_python_binds_them() -> None:
    f = dvm.compile(everything)
    with lowered(lambda _: slots(7)):
        f(1, k=1)
    for call in (
        lambda g: g(1, k=2),
        lambda g: g(1, 2, 3, 4, 5, k=6),
        lambda g: g(1, c=4, k=2, m=3, x=1, y=2),
        lambda g: g(1, k=2, a=3, b=4),  # positional-only names are free for **named
        lambda g: g(*range(10), k=X),
    ):
        assert repr(call(f)) == repr(in_slot_order(call(everything)))
    assert f.stats.captures == 1
    for bad in (
        lambda g: g(),
        lambda g: g(1),
        lambda g: g(1, 2, 3, c=4, k=1),
        lambda g: g(k=1),
    ):
        with pytest.raises(TypeError) as ours:
            bad(f)
        with pytest.raises(TypeError) as theirs:
            bad(everything)
        assert str(ours.value) == str(theirs.value)
    first, second = f(1, k=2, x=3)[6], f(1, k=2, x=3)[6]
    assert first == {"x": 3}
    assert first is not second


def test_any_number_of_parameters() -> None:
    count = 300
    names = [f"p{i}" for i in range(count)]
    scope: dict[str, Any] = {}
    exec(f"def many({', '.join(names)}): return ({', '.join(names)})", scope)
    f = dvm.compile(scope["many"])
    with lowered(lambda _: slots(count)):
        f(*range(count))
    assert f(*range(count)) == tuple(range(count))
    assert f(*range(100), **dict.fromkeys(names[100:], 0)) == (*range(100), *[0] * 200)
    assert f.stats.hits == 2


@dvm.compile
def decorated(x: Any) -> Any:
    return x + 1


def plain(x: Any) -> Any:
    return x + 1


wrapped_under_another_name = dvm.compile(plain, numerics="strict", name="mine")


def test_pickles_and_copies() -> None:
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    assert copy.copy(decorated) is decorated
    assert copy.deepcopy([decorated])[0] is decorated
    again = pickle.loads(pickle.dumps(wrapped_under_another_name))
    assert again.__wrapped__ is plain
    assert again.options == wrapped_under_another_name.options
    assert again.label == "mine"
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(dvm.compile(lambda x: x))


def test_partial_methods_and_wrappers() -> None:
    class Model:
        @dvm.compile
        def method(self, x: Any) -> Any:
            return self, x

        @staticmethod
        @dvm.compile
        def fixed(x: Any) -> Any:
            return x

        @classmethod
        @dvm.compile
        def of_class(cls, x: Any) -> Any:
            return cls, x

    model = Model()
    with lowered(lambda arguments: slots(len(arguments))):
        for _ in range(2):
            assert model.method(1) in ((model, 1),)
            assert Model.method(model, 2) == (model, 2)
            assert Model.fixed(3) in (3, (3,))
            assert model.of_class(4) == (Model, 4)
            assert functools.partial(Model.method, model)(x=5) == (model, 5)
    assert Model.__dict__["method"].stats.hits == 5


def test_threads_share_paths() -> None:
    made, (value,) = double()
    f = installed(
        lambda x: 2 * x,
        [
            ("argument", 0, 0),
            ("guard_signature", 0, X),
            ("run", made, [0], [], [(value, 1, "array")], 0, 0, "numpy"),
            ("return", 1),
        ],
        X,
    )
    wrong: list[Any] = []

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(300):
            x = rng.normal(size=rng.integers(1, 50))
            if not np.array_equal(f(x), 2 * x):
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert f.stats.hits == 1200


def test_recursion_through_a_path() -> None:
    def countdown(n: int) -> int:
        return 0 if n == 0 else f(n - 1) + 1

    f: Any = dvm.compile(countdown)

    def lower(arguments: tuple[Any, ...]) -> Steps:
        (n,) = arguments
        steps: Steps = [
            ("argument", 0, 0),
            ("guard_signature", 0, 1),
            ("constant", 1, 0),
            ("operator", 2, "==", 0, 1),
            ("guard_truth", 2, n == 0),
        ]
        if n == 0:
            return [*steps, ("return", 1)]
        return [
            *steps,
            ("constant", 3, 1),
            ("operator", 4, "-", 0, 3),
            ("constant", 5, f),
            ("call", 6, 5, [4], ()),
            ("operator", 7, "+", 6, 3),
            ("return", 7),
        ]

    with lowered(lower):
        assert [f(n) for n in (3, 0, 5)] == [3, 0, 5]
    hits = f.stats.hits
    assert f(50) == 50
    assert f.stats.hits == hits + 51


def test_endless_recursion_ends_as_in_python() -> None:
    """No level runs its original on the way out: that would double the calls per level."""
    originals = 0

    def endless(n: int) -> int:
        nonlocal originals
        originals += 1
        return f(n) if originals > 1 else n

    f: Any = dvm.compile(endless)
    with lowered(
        lambda _: [("argument", 0, 0), ("constant", 1, f), ("call", 2, 1, [0], ()), ("return", 2)]
    ):
        f(1)
        with pytest.raises(RecursionError):
            f(1)
    assert originals == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_replays() -> None:
    runs = Runs([("argument", 0, 0), ("return", 0)], 1)
    child = os.fork()
    if child == 0:
        os._exit(0 if runs(7) == 7 else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_waits_for_the_import_of_the_lowering(run_python: Any) -> None:
    # In the child nobody goes on with what another thread was importing.
    status = run_python(
        "import os, signal, sys, threading, time, numpy, dvm\n"
        "def first():\n"
        "    dvm.compile(lambda x: x + 1)(numpy.ones(3))\n"
        "thread = threading.Thread(target=first)\n"
        "thread.start()\n"
        "while 'dvm.magpy_capture' not in sys.modules: time.sleep(0)\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    signal.alarm(20)\n"
        "    first()\n"
        "    os._exit(0)\n"
        "thread.join()\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    assert status == "0\n"


def test_the_limit_of_paths_is_loud_once() -> None:
    f = dvm.compile(lambda x: x)
    with lowered(lambda a: [("argument", 0, 0), ("guard_value", 0, a[0]), ("return", 0)]):
        for i in range(64):
            assert f(i) == i
        with pytest.warns(RuntimeWarning, match="limit of 64 paths"):
            assert f(64) == 64
        assert f(65) == 65
    assert (f.stats.captures, f.stats.fallbacks) == (64, 2)
    assert ["limit of 64 paths" in reason for reason in f.fallback_reasons] == [True]
    assert f(63) == 63
    assert f.stats.hits == 1


class Config:
    def __init__(self) -> None:
        self.scale = 2.0


def test_misses_are_explained_in_words() -> None:
    scope: dict[str, Any] = {"CONFIG": 1}

    def named(x: Any, config: Any, n: int) -> Any:
        return x, config, n

    config = Config()
    steps: Steps = [
        ("at", "model.py", 7),
        ("guard_names", [(scope, "CONFIG", 1)]),
        ("argument", 0, 0),
        ("guard_signature", 0, np.ones(3, np.float32)),
        ("argument", 1, 1),
        ("attribute", 2, 1, "scale"),
        ("guard_value", 2, 2.0),
        ("argument", 3, 2),
        ("guard_signature", 3, 1),
        ("at", "model.py", 9),
        ("guard_truth", 3, True),
        ("return", 0),
    ]
    x = np.ones(3, np.float32)
    f = installed(named, steps, x, config, 1)
    assert _dvm.explain_miss(f, x, config, 1) == []
    assert _dvm.explain_miss(f, x, config, n=1) == []
    cases: list[tuple[tuple[Any, ...], str]] = [
        ((x.astype(float), config, 1), "argument x: dtype float32 became float64"),
        ((x[None], config, 1), "argument x: rank 1 became 2"),
        (
            (np.ones(6, np.float32)[::2], config, 1),
            "argument x: layout c_contiguous became ordered",
        ),
        (([1], config, 1), "argument x is a new kind of object: object of type list"),
        ((x, 3, 1), "argument config.scale is gone"),
        ((x, config, 0), "the branch at model.py:9 took the other way"),
    ]
    for arguments, reason in cases:
        assert misses(f, *arguments) == [reason]
    config.scale = 3.0
    assert misses(f, x, config, 1) == ["argument config.scale: 2.0 became 3.0"]
    scope["CONFIG"] = 2
    assert misses(f, x, config, 1) == ["global CONFIG was rebound"]
    assert f.stats.calls == 1


def misses(f: dvm.Compiled[..., Any], *arguments: Any) -> list[str]:
    """Why no path takes a call, as sentences."""
    return [miss["text"] for miss in _dvm.explain_miss(f, *arguments)]


def test_drops_are_explained_in_words() -> None:
    made, (value,) = double()
    f = installed(
        lambda x, y: (x, y),
        [
            ("argument", 0, 0),
            ("argument", 1, 1),
            ("at", "model.py", 3),
            ("run", made, [0], [], [(value, 2, "array")], 2, 0, "numpy"),
            ("at", "model.py", 4),
            ("operator", 3, "/", 1, 1),
            ("return", 2),
        ],
        X,
        1,
    )
    assert _dvm.explain_miss(f, X, 1) == []
    for arguments, reason in (
        ((3, 1), "an array or a number does not fit what was recorded at model.py:3"),
        ((np.full(4, 1.5e308), 1), "NumPy warns of a floating-point error here at model.py:3"),
        ((X, 0), "raises ZeroDivisionError: division by zero at model.py:4"),
    ):
        (miss,) = _dvm.explain_miss(f, *arguments)
        assert f"{miss['text']} at {miss['location']}" == reason


def test_explaining_and_timing_commit_nothing() -> None:
    seen: list[int] = []
    f = installed(
        lambda x: seen.append(x),
        [
            ("argument", 0, 0),
            ("constant", 1, seen.append),
            ("commit",),
            ("effect", 2, 1, [0], ()),
            ("return", 2),
        ],
        1,
    )
    assert seen == [1]
    assert _dvm.explain_miss(f, 2) == []
    assert _dvm.timed_call(f, 2)[0] is None  # type: ignore[index]
    assert seen == [1]
    assert dvm.explain(f)(3).outcome == "hit"
    assert seen == [1, 3]


def test_layouts() -> None:
    x = np.ones((2, 3, 4))
    cases: list[tuple[Any, str, tuple[int, ...]]] = [
        (x, "c_contiguous", (0, 1, 2)),
        (x[:, ::2], "ordered", (0, 1, 2)),
        (x[::-1], "ordered", (0, 1, 2)),
        (np.asfortranarray(x), "permuted_contiguous", (2, 1, 0)),
        (x.transpose(1, 0, 2), "permuted_contiguous", (1, 0, 2)),
        (x.transpose(2, 0, 1), "permuted_contiguous", (1, 2, 0)),
        (x.T[::2], "permuted", (2, 1, 0)),
        (x.T[:, :, ::-1], "permuted", (2, 1, 0)),
        (np.ones((3, 1, 4)).T, "permuted_contiguous", (1, 2, 0)),
        (np.ones((1, 4)).T, "c_contiguous", (0, 1)),
        (np.ones((0, 3)).T, "c_contiguous", (0, 1)),
        (np.broadcast_to(np.ones(3), (2, 3)), "ordered", (0, 1)),
        (np.broadcast_to(np.ones((3, 1)), (3, 2)), "ordered", (0, 1)),
        (np.ones(()), "c_contiguous", ()),
    ]
    for array, name, axes in cases:
        assert _dvm.layout(array) == (name, axes), (array.shape, array.strides)


def test_layouts_are_numpys_own_order_of_results() -> None:
    """The axes of a result lie as the layout says, for any strides."""
    rng = np.random.default_rng(0)
    for _ in range(500):
        shape = rng.integers(1, 4, size=rng.integers(1, 5))
        x = np.zeros(shape * 2)
        index = tuple(slice(None, None, int(rng.choice((1, 2, -1)))) for _ in shape)
        x = x[index].transpose(rng.permutation(len(shape)))
        axis = int(rng.integers(len(x.shape)))
        if rng.random() < 0.3:
            x = np.broadcast_to(x[(slice(None),) * axis + (slice(0, 1),)], x.shape)
        _, axes = _dvm.layout(x)
        like = np.zeros(np.array(x.shape)[list(axes)]).transpose(np.argsort(axes))
        result = x + 0
        telling = [i for i, n in enumerate(x.shape) if n > 1]
        assert [result.strides[i] for i in telling] == [like.strides[i] for i in telling], (
            x.shape,
            x.strides,
            axes,
        )
