"""`inspect` shows loops with what their turns compute, at every stage."""

import re

import numpy as np
import pytest

import dvm


def relaxed(u, steps):
    u = u.copy()
    for _ in range(steps):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        if np.ptp(u) < 1e-3:
            break
    return u * 2


def nested(a, n):
    for i in range(n):
        for j in range(i):
            a = np.tanh(a * 0.5) + j
        a = np.sin(a) + 1
    return a


def compiled(function, x):
    f = dvm.compile(function)
    for count in (3, 4, 9, 1, 6):
        f(x, count)
    return f


@pytest.mark.parametrize("stage", ["graph", "fused", "tiles", "bytecode"])
def test_turns_stand_under_a_heading(stage):
    text = compiled(relaxed, np.linspace(0, 1, 9) ** 2).inspect(stage)
    head, *turns = re.split(r"^# loop at .*:(\d+), way \d+\n", text, flags=re.M)
    assert head.startswith("# graph 0\n")
    line = relaxed.__code__.co_firstlineno + 2
    assert turns
    assert {int(at) for at in turns[::2]} == {line}
    if stage == "graph":
        assert "maximum" in turns[1] or "max(" in turns[1]  # of np.ptp
        assert "max(" not in head
    if stage == "bytecode":
        assert "dvm.program v1" in turns[1]


def test_loops_within_loops_are_shown():
    text = compiled(nested, np.ones((3, 3))).inspect("graph")
    first = nested.__code__.co_firstlineno
    assert set(map(int, re.findall(r"^# loop at .*:(\d+), way", text, re.M))) == {
        first + 1,
        first + 2,
    }
    inner = text[text.index(f":{first + 2}, way") :]
    assert "tanh(" in inner
    assert "tanh(" not in text[: text.index("# loop at")]


def test_the_loops_of_the_path_of_a_call_are_shown():
    def either(x, n, rolled):
        if rolled:
            for _ in range(n):
                x = np.tanh(x * 0.5)
            return x
        return x + 1

    f = dvm.compile(either)
    for count in (3, 4, 9, 20):
        f(np.ones(5), count, True)
    f(np.ones(5), 3, False)
    assert "# loop at" in f.inspect("graph", np.ones(5), 7, True)
    assert "# loop at" not in f.inspect("graph", np.ones(5), 7, False)
