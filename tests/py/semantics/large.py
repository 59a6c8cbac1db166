"""Large functions: more constants, names and jumps than fit one byte of an instruction."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats, ints

MANY = range(300)


def made(w: World, source: str, **names):
    """Return the compiled function `f` which the text defines."""
    space = {"np": np, **names}
    exec(compile(source, "<made>", "exec"), space)
    return w.compiled(space["f"]), space


@case
def many_variables(w: World) -> None:
    lines = [f"    v{i} = x * {i} + 0.5" for i in MANY]
    f, _ = made(w, "def f(x):\n" + "\n".join(lines) + "\n    return v299 + v0, v150, v299 - v298\n")
    for n in (3, 3, 2, 0):
        w(f, floats(n))


@case
def many_constants(w: World) -> None:
    terms = "\n".join(f"    x = x + {i}.25" for i in MANY)
    f, _ = made(w, f"def f(x):\n{terms}\n    return x, 299.25, 'text'\n")
    for n in (3, 3, 2, 1):
        w(f, floats(n))
    w(f, 1)


@case
def many_globals(w: World) -> None:
    terms = " + ".join(f"g{i}" for i in MANY)
    f, space = made(w, f"def f(x):\n    return x * ({terms})\n", **{f"g{i}": i for i in MANY})
    w(f, floats(3))
    w(f, floats(3))
    space["g299"] = 1000
    w(f, floats(3))
    space["g0"] = floats(3)
    w(f, floats(3))
    del space["g150"]
    w(f, floats(3))


@case
def many_attributes(w: World) -> None:
    class Bag:
        pass

    reads = "\n".join(f"    total = total + m.a{i}\n    m.b{i} = total" for i in MANY)
    f, _ = made(w, f"def f(m, x):\n    total = 0\n{reads}\n    return x * total\n")
    m = Bag()
    for i in MANY:
        setattr(m, f"a{i}", i)
    w(f, m, floats(3))
    w(f, m, floats(3))
    m.a299 = 0.5
    w(f, m, floats(3))
    m.a7 = ints(3)
    w(f, m, floats(3))
    del m.a298
    w(f, m, floats(3))


@case
def a_long_branch(w: World) -> None:
    lines = "\n".join(f"        x = x + {i}" for i in MANY)
    branches = f"    if x.sum() > 0:\n{lines}\n    else:\n{lines}\n        x = -x\n"
    source = f"def f(x):\n{branches}    return x\n"
    f, _ = made(w, source)
    for sign in (1, 1, -1, 1, -1):
        w(f, np.full(2, float(sign)))


@case
def many_branches(w: World) -> None:
    lines = "\n".join(f"    if k == {i}:\n        x = x * {i}" for i in range(80))
    f, _ = made(w, f"def f(x, k):\n{lines}\n    return x\n")
    for k in (1, 1, 5, 79, 80, 1, 5):
        w(f, floats(2), k)


@case
def many_outcomes_of_many_branches(w: World) -> None:
    @w.compiled
    def f(x, items):
        for item in items:
            x = x + 1 if item else x * 2
        return x

    for n in range(40):
        w(f, floats(2), [n >> i & 1 for i in range(6)])


@case
def long_containers_and_calls(w: World) -> None:
    items = ", ".join(f"x + {i}" for i in MANY)
    keys = ", ".join(f"'k{i}': {i}" for i in MANY)
    source = (
        "def g(*args, **kwargs):\n    return len(args), sum(kwargs.values())\n"
        f"def f(x):\n    items = [{items}]\n    table = {{{keys}}}\n"
        f"    return items[299], len(items), table['k299'], g({items}), g(**table)\n"
    )
    f, _ = made(w, source)
    for n in (2, 2, 3):
        w(f, floats(n))


@case
def deep_calls(w: World) -> None:
    steps = "\n".join(f"def g{i}(x):\n    return g{i - 1}(x) + 1" for i in range(1, 60))
    f, space = made(w, f"def g0(x):\n    return x * 2\n{steps}\ndef f(x):\n    return g59(x)\n")
    w(f, floats(2))
    w(f, floats(2))
    space["g0"] = lambda x: x * 3
    w(f, floats(2))
    space["g30"] = np.sqrt
    w(f, floats(2) + 4)
    w(f, floats(2) + 4)


@case
def a_deep_expression(w: World) -> None:
    source = "def f(x, y):\n    return " + "(x + " * 60 + "y" + ")" * 60 + "\n"
    f, _ = made(w, source)
    for n, m in ((2, 2), (2, 2), (3, 1), (2, 3), (0, 0)):
        w(f, floats(n), floats(m))


@case
def long_loops(w: World) -> None:
    @w.compiled
    def f(x, n):
        for i in range(n):
            x = x + i if i % 3 else x - 1
        return x

    for n in (10, 10, 500, 10, 0):
        w(f, np.zeros(2), n)
    w(f, ints(2), 100)


@case
def nested_loops_and_exits(w: World) -> None:
    @w.compiled
    def f(x, n):
        found = None
        for i in range(n):
            for j in range(n):
                if i * j == 6:
                    found = (i, j)
                    break
                x = x + 0.5
            else:
                continue
            break
        return x, found

    for n in (2, 2, 4, 8, 0, 4):
        w(f, floats(2), n)


@case
def ranks_up_to_the_limit(w: World) -> None:
    @w.compiled
    def f(x):
        return (x + 1).sum(axis=0), x.T * 2, x[..., None]

    for rank in (1, 1, 4, 6, 8, 9, 12, 4):
        w(f, floats(*([2] * rank)))


@case
def large_arrays(w: World) -> None:
    @w.compiled
    def f(x, y):
        x[1:] += y
        return (x * y[0]).sum(), x[::-1][:3], (x > 0).sum(), x.max()

    for n in (10, 10, 5000, 70000, 200001, 10):
        w(f, np.arange(n) % 7 - 3.0, np.ones(n - 1))


@case
def many_numbers_in_an_array(w: World) -> None:
    @w.compiled
    def f(n, x):
        made = np.array([1] * n + [np.nan] + [2] * n)
        return made, made + x, np.stack([x] * n + [x + 1]) * 2, x + [3] * n

    for n in (127, 127, 128, 129, 129, 2000, 2000):
        w(f, n, np.float64(1.5))
        w(f, n, np.float64(-0.5))


@case
def many_numbers_that_fail_to_become_integers(w: World) -> None:
    @w.compiled
    def f(n, x):
        with np.errstate(invalid="raise"):
            return np.add(np.array([1] * n + [x]), 1, dtype=np.intp, casting="unsafe")

    for x in (2.0, 2.0, np.nan, 3.0):
        w(f, 10_000, x)
