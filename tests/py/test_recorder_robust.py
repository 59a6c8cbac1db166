"""The recorder among strangers: whatever the program does, its outcome is its own.

The shadow of the value stack must have the depth of the real one at every instruction: the recorder
says so when it has not, and no program here may make it say that.
"""

# ruff: noqa: ARG001  (the programs are what they are)
from __future__ import annotations

import functools
import gc
import random
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dvm
from recordings import event_lines, leaves, record  # noqa: F401
from strangers import STRANGERS

OUT_OF_STEP = ("another depth", "the recorder failed", "unknown origin", "does not know")


def outcome(function: Callable[[], Any]) -> tuple[str, str]:
    try:
        return "value", repr(function())
    except Exception as error:
        return type(error).__name__, str(error)


def check_step(aborted: str) -> None:
    assert not any(text in aborted for text in OUT_OF_STEP), aborted


@pytest.mark.parametrize("name", sorted(STRANGERS))
def test_strangers_keep_their_outcome(name: str) -> None:
    function = STRANGERS[name]
    plain = outcome(function)
    recording = record(function)
    if recording["exception"] is None:
        assert ("value", repr(recording["value"])) == plain
    else:
        raised = recording["exception"]
        assert (type(raised).__name__, str(raised)) == plain
    check_step(recording["aborted"])
    assert sys.gettrace() is None


def random_function(rng: random.Random) -> str:
    """Return the source of a function f(a, b, xs) which may raise but does not hang."""

    def expression(depth: int) -> str:
        if depth == 0:
            return rng.choice(["a", "b", "1", "0", "-2", "xs", "None", "'t'", "k", "len(xs)"])
        x, y, z = (expression(depth - 1) for _ in range(3))
        return rng.choice(
            [
                f"({x} + {y})",
                f"({x} * 2 - {y})",
                f"({x} if {y} else {z})",
                f"({x} and {y} or {z})",
                f"(not {x})",
                f"({x} < {y})",
                f"({x} == {y} != {z})",
                f"({x} is {y})",
                f"({x} in [{y}, {z}])",
                f"[{x}, {y}]",
                f"({x}, *[{y}])",
                f"{{{x}: {y}}}",
                f"[{x} for i in range(3) if i]",
                f"{{i: {x} for i in range(2)}}",
                "sum(i for i in range(3))",
                f"(lambda p, q={x}: p)({y})",
                "f'{a!r:>5}{b}'",
                f"helper({x}, y={y})",
                f"helper(*[{x}], **{{'y': {y}}})",
                f"Box({x}).get()",
                f"(Box({x}) + {y})",
                "max([1, 2], key=lambda t: -t)",
                f"xs[{x}:]",
                f"isinstance({x}, int)",
            ]
        )

    def statements(depth: int, indent: str, in_loop: bool) -> list[str]:
        lines = []
        for _ in range(rng.randint(1, 3)):
            x, y = expression(2), expression(1)
            kind = rng.randint(0, 13 if depth else 7)
            block = functools.partial(statements, depth - 1, "    ")
            if kind == 8:
                lines += [f"if {x}:", *block(in_loop), "else:", *block(in_loop)]
            elif kind == 9:
                lines += ["for i in range(2):", *block(True)]
            elif kind == 10:
                lines += ["for q in list(xs):", *block(True), "    if k: break"]
                lines += ["else:", "    a = 1"]
            elif kind == 11:
                lines += ["try:", *block(in_loop), "except TypeError:", "    a = 0"]
                lines += ["finally:", "    b = 0"]
            elif kind == 12:
                lines += ["with box as c:", *block(in_loop)]
            else:
                lines += {
                    0: [f"a = {x}"],
                    1: [f"b = {x}"],
                    2: [f"xs.append({x})"],
                    3: ["a, *b = [1, 2, 3]"],
                    4: [f"xs[0] = {x}"],
                    5: [f"if a is not None: b = {y}"],
                    6: ["k += 1"],
                    7: [f"box.value = {x}", "a = box.value"],
                    13: [
                        *("def inner(z):", "    nonlocal k", "    k += 1", "    return z"),
                        f"a = inner({y})",
                    ],
                }[kind]
            if in_loop and rng.random() < 0.2:
                lines += [rng.choice(["if k: continue", "if not k: break"])]
        return [indent + line for line in lines]

    body = statements(3, "        ", False)
    return "\n".join(
        [
            "class Box:",
            "    def __init__(self, value): self.value = value",
            "    def get(self): return self.value",
            "    def __add__(self, other): return NotImplemented",
            "    def __enter__(self): return self",
            "    def __exit__(self, *e): return False",
            "def helper(x, *, y=None): return y if y is not None else x",
            "def outer():",
            "    k = 0",
            "    def f(a, b, xs):",
            "        nonlocal k",
            "        box = Box(a)",
            *body,
            "        return a, b, xs",
            "    return f",
        ]
    )


def program(seed: int) -> tuple[Callable[[], Any], str]:
    """Return a maker of the seed's function, and its source."""
    source = random_function(random.Random(seed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # ("t" is a) and the like
        tree = compile(source, f"<seed {seed}>", "exec")

    def make() -> Any:
        scope: dict[str, Any] = {}
        exec(tree, scope)
        return scope["outer"]()

    return make, source


@pytest.mark.parametrize("seed", range(300))
def test_random_programs_stay_in_step(seed: int) -> None:
    make, source = program(seed)
    plain = outcome(lambda: make()(3, 0, [1, 2]))
    recording = record(make(), 3, 0, [1, 2])
    exception = recording["exception"]
    if exception is None:
        assert plain[0] == "value", source
        # Addresses in the text of functions and boxes differ from run to run.
        if " at 0x" not in plain[1]:
            assert repr(recording["value"]) == plain[1], source
        if not recording["aborted"]:
            seen = recording["nodes"][recording["result"]][4]
            assert seen is recording["value"]
    else:
        assert type(exception).__name__ == plain[0], source
    check_step(recording["aborted"])


def test_more_than_255_constants_and_names() -> None:
    lines = [f"    x = x + {i}.5 + names.v{i}" for i in range(300)]
    body = "\n".join(
        [*lines, "    while x < 0:", *("    " + line for line in lines), "    return x"]
    )
    scope: dict[str, Any] = {}
    exec(
        f"class names: pass\nfor i in range(300): setattr(names, f'v{{i}}', i)\ndef f(x):\n{body}",
        scope,
    )
    recording = record(scope["f"], 0.0)
    assert not recording["aborted"]
    lines = event_lines(recording)
    assert lines[3 * 299 + 1] == "e898 attribute v299 (names)"
    assert lines[3 * 299] == f"e897 binary + (e{3 * 299 - 1} =299.5)"
    assert lines[-1].endswith("branch truth (e900) 0")


def test_user_exception_is_untouched() -> None:
    def inner(x: Any) -> Any:
        return x / 0

    def outer(x: Any) -> Any:
        return inner(x)

    recording = record(outer, 1)
    error = recording["exception"]
    assert isinstance(error, ZeroDivisionError)
    assert recording["aborted"] == "an exception left the function"
    lines = []
    trace = error.__traceback__
    while trace is not None:
        lines.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert lines[-2:] == ["outer", "inner"]
    kinds = [line.split()[1] for line in event_lines(recording)]
    assert kinds == ["call*", "enter", "binary", "raised", "leave"]


def test_a_handled_exception_is_recorded() -> None:
    def handled(x: Any) -> Any:
        try:
            return x / 0
        except ZeroDivisionError:
            return "caught"

    recording = record(handled, 1)
    assert recording["value"] == "caught"
    assert not recording["aborted"]
    kinds = [line.split()[1] for line in event_lines(recording)]
    assert kinds == ["binary", "raised", "matches", "branch"]


def test_an_exception_that_c_code_handles_ends_the_recording() -> None:
    class Lacking:
        def __getattr__(self, name: str) -> Any:
            raise AttributeError(name)

        def __iter__(self) -> Any:
            raise TypeError("not now")

        def __length_hint__(self) -> int:
            raise TypeError("unknown")

    recording = record(lambda x: str(x in [1]) + str(getattr(x, "y", 2)), Lacking())
    assert recording["value"] == "False2"
    assert recording["aborted"] in ("", "an exception that C code handled")


def test_another_tracer_keeps_its_events() -> None:
    def inner(x: Any) -> Any:
        y = x + 1
        return y

    def function(x: Any) -> Any:
        total = 0
        for i in range(3):
            total += inner(i)
        return total

    def traced(run: Callable[[], Any], opcodes: bool) -> list[tuple[str, str, int]]:
        events: list[tuple[str, str, int]] = []

        def tracer(frame: Any, event: str, _arg: Any) -> Any:
            if frame.f_code.co_filename == __file__ and frame.f_code.co_name in (
                "inner",
                "function",
            ):
                frame.f_trace_opcodes = opcodes
                events.append((frame.f_code.co_name, event, frame.f_lineno))
            return tracer

        sys.settrace(tracer)
        try:
            run()
        finally:
            restored = sys.gettrace()
            sys.settrace(None)
        assert restored is tracer
        return events

    recordings: list[Any] = []
    for opcodes in (False, True):
        plain = traced(lambda: function(3), opcodes)
        assert traced(lambda: recordings.append(record(function, 3)), opcodes) == plain
    for recording in recordings:
        assert not recording["aborted"]
        assert any(line.startswith("e3 call*") for line in event_lines(recording))


def test_program_that_sets_a_tracer_keeps_it() -> None:
    def tracer(_frame: Any, _event: str, _arg: Any) -> Any:
        return None

    def function() -> Any:
        before = sys.gettrace()
        sys.settrace(tracer)
        return before

    try:
        recording = record(function)
        assert recording["value"] is None
        assert sys.gettrace() is tracer
        assert recording["aborted"] == "the program set a trace function"
    finally:
        sys.settrace(None)


def test_threads_record_apart() -> None:
    def function(n: Any) -> Any:
        total = 0
        for i in range(n):
            total += i
        return total

    expected = {n: event_lines(record(function, n)) for n in range(50, 58)}
    failures: list[int] = []

    def work(n: int) -> None:
        for _ in range(20):
            if event_lines(record(function, n)) != expected[n]:
                failures.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_recording_inside_a_recording() -> None:
    def inner(x: Any) -> Any:
        return x + 1

    def outer(x: Any) -> Any:
        return record(inner, x)["value"] + 1

    recording = record(outer, 1)
    assert recording["value"] == 3
    assert sys.gettrace() is None


def helper(x: Any) -> Any:
    return x + 1


def test_leaves_are_single_events(leaves: Callable[..., None]) -> None:  # noqa: F811
    class Thing:
        def method(self, x: Any) -> Any:
            return helper(x)

    thing = Thing()

    def function(x: Any) -> Any:
        return helper(thing.method(x))

    assert len(event_lines(record(function, 1))) > 3
    leaves(helper, Thing.method)
    lines = event_lines(record(function, 1))
    assert [line.split()[1] for line in lines] == ["attribute", "call", "call"]


def test_dispatched_functions_are_followed_unless_leaves(
    leaves: Callable[..., None],  # noqa: F811
) -> None:
    def function(x: Any) -> Any:
        return np.flip(x, 0)

    x = np.arange(3)
    followed = event_lines(record(function, x))
    assert followed[1] == "e1 call* (e0 arg0 =0) -> " + followed[1].rpartition(" ")[2]
    assert followed[2].startswith("e2 enter flip (arg0 =0 =flip)")
    leaves(np.flip)
    assert event_lines(record(function, x)) == ["e0 attribute flip (np)", "e1 call (e0 arg0 =0)"]


def test_compiled_functions_are_followed_as_their_originals() -> None:
    compiled = dvm.compile(helper)

    def function(x: Any) -> Any:
        return compiled(x)

    recording = record(function, 1)
    assert [line.split()[1] for line in event_lines(recording)] == [
        "call*",
        "enter",
        "binary",
        "leave",
    ]


def test_snapshots_show_containers_before_the_program_touched_them() -> None:
    def function(a: Any, b: Any, d: Any, *rest: Any, **named: Any) -> Any:
        a.append(3)
        b[0] = 9
        d["new"] = named["k"]
        return rest[0]

    both = [1, 2]
    recording = record(function, both, both, {"old": 1}, 5, k=7)
    snapshots = [node[5] for node in recording["nodes"] if node[0] == "argument"]
    assert snapshots == [(1, 2), (1, 2), {"old": 1}, (5,), {"k": 7}]


def test_recordings_release_what_they_kept() -> None:
    def function(x: Any) -> Any:
        parts = [x + i for i in range(3)]
        return {"sum": parts[0] + parts[1], "f": lambda: parts}

    x = type("Number", (int,), {})(3)
    record(function, x)
    gc.collect()
    before = sys.getrefcount(x), len(gc.get_objects())
    for _ in range(50):
        record(function, x)
    gc.collect()
    assert sys.getrefcount(x) == before[0]
    assert len(gc.get_objects()) - before[1] < 20


def test_a_method_that_assigns_out_of_sight_ends_the_recording() -> None:
    seen = 0

    class Key:
        def __hash__(self) -> int:
            nonlocal seen
            seen += 1
            return 1

    def function(xs: Any) -> Any:
        before = seen
        set(xs)
        return seen - before

    recording = record(function, [Key()])
    assert recording["value"] == 1
    assert recording["aborted"] == "a variable shared with an inner function changed out of sight"


def test_frames_run_by_c_code_are_recorded_where_the_program_gave_them_to_it() -> None:
    class Dies:
        def __del__(self) -> None:
            log.append(helper(1))

    def on_collection(phase: str, _info: Any) -> None:
        log.append(phase)

    def function(xs: Any) -> Any:
        doubled = list(map(helper, xs))
        squared = np.frompyfunc(helper, 1, 1)(np.array(xs))
        table = dict.fromkeys(filter(helper, xs))
        return doubled, squared, table, [Thing() for _ in range(1000)]

    class Thing:
        def __init__(self) -> None:
            self.me = self

    log: list[Any] = []
    gc.callbacks.append(on_collection)
    threshold = gc.get_threshold()
    gc.set_threshold(10, 2, 2)
    try:
        recording = record(function, [1, 2])
        Dies()
        recording_of_death = record(lambda: Dies() and None)
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(on_collection)
    assert not recording["aborted"]
    # Kept alive by the recording, it would tell its end too late.
    assert (
        recording_of_death["aborted"]
        == "an object that tells when it dies, or lends memory until then"
    )
    assert recording["value"][0] == [2, 3]
    assert "stop" in log
    entered = [event[1] for event in recording["events"] if event[0] == "enter"]
    assert not any(name.endswith(("on_collection", "__del__")) for name in entered)
    assert entered.count("helper") == 6


def test_long_loops_end_the_recording() -> None:
    def function(n: Any) -> Any:
        total = 0
        for i in range(n):
            total += i
        return total

    recording = record(function, 200_000)
    assert recording["value"] == sum(range(200_000))
    assert recording["aborted"] == "a recording of more than 262144 steps"


def test_programs_that_count_references_see_none_of_the_recorder() -> None:
    def function() -> Any:
        x = object()
        y = [x, x]
        return sys.getrefcount(x), len(y)

    recording = record(function)
    assert recording["value"] == function()
    assert recording["aborted"] == "a look at how long objects live"
    assert recording["nodes"] == recording["events"] == []


def test_builtins_of_the_function_are_its_own() -> None:
    # Nothing the recorder does may go through the program's own __import__.
    source = """
import sys
import numpy as np
from dvm import _dvm
scope = {"__builtins__": {"abs": lambda x: x * 10, "len": len}}
exec("def f(x):\\n    return abs(x) + len(x)\\n", scope)
plain = scope["f"](np.ones(3))
recording = _dvm.record(scope["f"], np.ones(3))
assert recording["exception"] is None, recording["exception"]
assert recording["aborted"] == "" and (recording["value"] == plain).all()
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)


def test_weak_references_die_as_they_do() -> None:
    class Thing:
        pass

    def function() -> Any:
        thing = Thing()
        before = Thing()
        del before
        weak = weakref.ref(thing)
        del thing
        return weak()

    assert record(function)["value"] is None


def test_the_memory_of_dropped_arrays_is_given_back() -> None:
    source = """
import resource
import numpy as np
from dvm import _dvm

def function(x):
    first = x + 1
    for _ in range(100):
        x = x.reshape(2, -1).T[::-1] + 1  # views of it stay in the recording, too
    return first, x.sum()

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
recording = _dvm.record(function, np.zeros((1 << 20, 2)))  # 16 MiB each
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first, total = recording["value"]
assert recording["aborted"] == "" and total == 100 * 2 << 20
assert (first == 1).all(), "what the program holds is untouched"
assert peak - before < 400 << 10, f"{(peak - before) >> 10} MiB"
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)


def test_small_arrays_are_not_kept_without_end() -> None:
    def function(x: Any) -> Any:
        for _ in range(40_000):
            x = x + 1
        return x[0]

    recording = record(function, np.zeros(4096))  # 32 KiB each
    assert recording["value"] == 40_000
    assert recording["aborted"] == "more memory than a recording may keep"
    assert recording["nodes"] == []
