"""Loops and branches of graphs, built and called on arrays, against NumPy."""

from __future__ import annotations

import _thread
import threading
from typing import Any

import numpy as np
import pytest

import dvm
from dvm import _dvm

TARGETS = ["cpu", "ascend910b1"]
TRIPS = [0, 1, 2, 3, 7]


def number(graph: Any, value: float) -> int:
    return graph.constant("f64", value)


def scaled(graph: Any, value: int, factor: float) -> int:
    full = graph.broadcast(number(graph, factor), graph.shape(value))
    return graph.elementwise("mul", [value, full])


def element(graph: Any, value: int) -> int:
    """The one element of an array as a number."""
    return graph.reshape(value, [])


def counted(graph: Any) -> Any:
    """A number of trips, an argument."""
    size = graph.symbol("count", -100)
    graph.scalar("i64", size=size)
    return size


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("trips", TRIPS)
def test_stencil(target: str, trips: int) -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n", 3)
    x = graph.input("f64", [n])
    count = counted(graph)
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    u = body.input("f64", [n])
    inner = [n - 2]
    left, middle, right = (body.slice(u, [at], [1], inner) for at in range(3))
    total = body.elementwise("add", [body.elementwise("add", [left, middle]), right])
    body.outputs = [body.update(u, scaled(body, total, 0.25), [1], [1])]
    _, last = graph.loop(body, carried=[x], count=count)
    graph.outputs = [last]
    run = dvm.CompiledGraph(graph, target=target, numerics="strict")
    given = np.random.default_rng(trips).standard_normal(33)
    before, expected = given.copy(), given.copy()
    for _ in range(trips):
        expected[1:-1] = (expected[:-2] + expected[1:-1] + expected[2:]) * 0.25
    (found,) = run(given, trips)
    assert np.array_equal(found, expected)
    assert np.array_equal(given, before), "an argument was written to"


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 4), (9, 0)])
def test_rows_of_a_recurrence(target: str, shape: tuple[int, int]) -> None:
    """Each state is kept, in place."""
    graph = _dvm.Graph()
    m, n = graph.symbol("m"), graph.symbol("n")
    rows, start = graph.input("f64", [m, n]), graph.input("f64", [n])
    states = graph.empty("f64", [m, n])
    body = graph.body()
    k = graph.symbol("k")
    body.scalar("i64", size=k)
    h, kept, given = (body.input("f64", s) for s in ([n], [m, n], [m, n]))
    row = body.reshape(body.slice(given, [k, 0], [1, 1], [1, n]), [n])
    new = body.elementwise("sub", [row, scaled(body, h, 0.5)])
    kept = body.update(kept, body.reshape(new, [1, n]), [k, 0], [1, 1])
    body.outputs = [new, kept]
    _, last, states = graph.loop(body, carried=[start, states], used=[rows], count=m)
    graph.outputs = [last, states]
    run = dvm.CompiledGraph(graph, target=target, numerics="strict")
    a = np.random.default_rng(1).standard_normal(shape)
    h0 = np.ones(shape[1])
    wanted, state = np.empty(shape), h0
    for i in range(shape[0]):
        state = wanted[i] = a[i] - state * 0.5
    found, all_found = run(a, h0)
    assert np.array_equal(found, state)
    assert np.array_equal(all_found, wanted)


@pytest.mark.parametrize("target", TARGETS)
def test_until_convergence(target: str) -> None:
    graph = _dvm.Graph()
    a = graph.input("f64", [])
    trips = graph.symbol("trips")
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    x, square = body.input("f64", []), body.input("f64", [])
    off = body.elementwise("sub", [body.elementwise("mul", [x, x]), square])
    near = body.elementwise("lt", [body.elementwise("abs", [off]), number(body, 1e-9)])
    body.leave(near, [x])
    mean = body.elementwise("add", [x, body.elementwise("div", [square, x])])
    body.outputs = [body.elementwise("mul", [mean, number(body, 0.5)])]
    made, root = graph.loop(body, carried=[a], used=[a], trips=trips)
    graph.outputs = [root, made, graph.dim_value("i64", trips * 10)]
    run = dvm.CompiledGraph(graph, target=target, numerics="strict")
    for value in (1.0, 2.0, 1e6):
        x, steps = value, 0
        while not abs(x * x - value) < 1e-9:
            x, steps = (x + value / x) * 0.5, steps + 1
        found = run(np.float64(value))
        assert [float(found[0]), int(found[1]), int(found[2])] == [x, steps, steps * 10]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("trips", TRIPS)
def test_what_grows(target: str, trips: int) -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n")
    x = graph.input("f64", [n])
    count = counted(graph)
    body = graph.body()
    k, c = graph.symbol("k"), graph.symbol("c")
    body.scalar("i64", size=k)
    line = body.input("f64", [c])
    longer = body.update(body.empty("f64", [c + 1]), line, [0], [1])
    body.outputs = [body.update(longer, body.reshape(body.dim_value("f64", k * 3), [1]), [c], [1])]
    _, last = graph.loop(body, carried=[x], count=count)
    graph.outputs = [last, graph.reduce("sum", last, [0])]
    run = dvm.CompiledGraph(graph, target=target, numerics="strict")
    given = np.arange(4.0)
    expected = np.concatenate([given, np.arange(trips) * 3.0])
    found, total = run(given, trips)
    assert np.array_equal(found, expected)
    assert total[0] == expected.sum()


@pytest.mark.parametrize("target", TARGETS)
def test_branches_and_a_number_that_is_carried(target: str) -> None:
    """Collatz steps, with the number in a register that sizes may depend on."""
    graph = _dvm.Graph()
    first = graph.symbol("first")
    graph.scalar("i64", size=first)
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    v = graph.symbol("v")
    body.scalar("i64", size=v)
    one = body.elementwise("eq", [body.dim_value("i64", v), body.constant("i64", 1)])
    body.leave(one, [body.dim_value("i64", v)])
    odd = body.elementwise("eq", [body.dim_value("i64", v % 2), body.constant("i64", 1)])
    arms = [graph.body(), graph.body()]
    for arm, value in zip(arms, (v * 3 + 1, v // 2), strict=True):
        arm.outputs = [arm.dim_value("i64", value)]
    body.outputs = body.branch(odd, *arms)
    made, end = graph.loop(body, carried=[graph.dim_value("i64", first)])
    graph.outputs = [made, end]
    run = dvm.CompiledGraph(graph, target=target)
    for value, steps in ((1, 0), (6, 8), (27, 111)):
        assert [int(x) for x in run(value)] == [steps, 1]


def test_functions_of_the_host_in_a_body() -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n")
    x = graph.input("f64", [n])
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    u = body.input("f64", [n])
    body.outputs = [body.call("turned", [scaled(body, u, 2.0)], "f64", [n])]
    graph.outputs = [graph.loop(body, carried=[x], count=3)[1]]
    seen: list[Any] = []

    def turned(a: Any) -> Any:
        seen.append(a)
        return a[::-1]

    run = dvm.CompiledGraph(graph, functions={"turned": turned})
    given = np.arange(5.0)
    (found,) = run(given)
    assert np.array_equal(found, given[::-1] * 8)
    # What a function has kept is its own.
    assert [list(a) for a in seen] == [
        list(given * 2),
        list(given[::-1] * 4),
        list(given * 8),
    ]


def test_what_a_function_raises_in_a_trip() -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n")
    x = graph.input("f64", [n])
    body = graph.body()
    k = graph.symbol("k")
    body.scalar("i64", size=k)
    u = body.input("f64", [n])
    body.outputs = [body.call("fails", [u], "f64", [n], sizes=[k])]
    graph.outputs = [graph.loop(body, carried=[x], count=9)[1]]

    def fails(a: Any, trip: int) -> Any:
        if trip == 4:
            raise ValueError(f"trip {trip}")
        return a + 1

    with pytest.raises(ValueError, match="trip 4"):
        dvm.CompiledGraph(graph, functions={"fails": fails})(np.zeros(2))


def test_a_size_that_does_not_fit_is_refused() -> None:
    graph = _dvm.Graph()
    m, n = graph.symbol("m"), graph.symbol("n")
    rows = graph.input("f64", [m, n])
    count = counted(graph)
    body = graph.body()
    k = graph.symbol("k")
    body.scalar("i64", size=k)
    total, given = body.input("f64", [1, n]), body.input("f64", [m, n])
    row = body.slice(given, [k, 0], [1, 1], [1, n])
    body.outputs = [body.elementwise("add", [total, row])]
    zeros = graph.broadcast(number(graph, 0.0), [1, n])
    graph.outputs = [graph.loop(body, carried=[zeros], used=[rows], count=count)[1]]
    run = dvm.CompiledGraph(graph)
    assert np.array_equal(run(np.ones((3, 2)), 3)[0], [[3, 3]])
    with pytest.raises(_dvm.ShapeError):
        run(np.ones((3, 2)), 4)


def test_an_endless_loop_is_interrupted() -> None:
    graph = _dvm.Graph()
    x = graph.input("f64", [])
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    u = body.input("f64", [])
    body.outputs = [body.elementwise("add", [u, number(body, 1.0)])]
    graph.outputs = [graph.loop(body, carried=[x])[1]]
    run = dvm.CompiledGraph(graph)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        run(np.float64(0))
    timer.join()


def test_no_trip_gives_back_what_was_given() -> None:
    graph = _dvm.Graph()
    n = graph.symbol("n")
    x = graph.input("f64", [n])
    count = counted(graph)
    body = graph.body()
    body.scalar("i64", size=graph.symbol("k"))
    u = body.input("f64", [n])
    body.outputs = [scaled(body, u, 2.0)]
    graph.outputs = [graph.loop(body, carried=[x], count=count)[1]]
    run = dvm.CompiledGraph(graph)
    given = np.ones(3)
    assert run(given, 0)[0] is given
    assert run(given, -2)[0] is given
    first, second = run(given, 2)[0], run(given, 2)[0]
    assert first is not second
    assert not np.shares_memory(first, second)
