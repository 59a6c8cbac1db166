"""Lists that C code makes for the program: `tolist`, `sorted`."""

from __future__ import annotations

import numpy as np

from semantics.world import World, case, floats


@case
def they_leave_as_they_are(w: World) -> None:
    @w.compiled
    def f(x, out, table):
        made = (x * 2).tolist()
        out.append(made)
        table["v"] = made
        return made, [made], x + 1

    for n in (2, 5, 0, 7, 2):
        out, table = [], {}
        made, (other,), _ = w(f, floats(n), out, table)
        w.note(made is other, made is out[0], made is table["v"], out)
        made.append(3)
    w.replayed(f)


@case
def they_are_looked_at_and_changed(w: World) -> None:
    @w.compiled
    def f(x):
        made = x.tolist()
        other = made
        made.append(3.0)
        made[0] = 7.0
        made.sort()
        return made is other, made, len(made), made[-1], sum(made)

    @w.compiled
    def g(x):
        made = x.tolist()
        return (made or [0.0])[0], made, made * 2, [*made]

    for n in (3, 3, 5):
        w(f, floats(n))
        w(g, floats(n))


@case
def rows_of_matrices(w: World) -> None:
    @w.compiled
    def f(x):
        rows = np.outer(x, x).tolist()
        first = rows[0]
        first.append(2.0)
        return rows, first

    for n in (2, 2, 4):
        rows, first = w(f, floats(n))
        w.note(rows[0] is first)


@case
def sorted_ones(w: World) -> None:
    @w.compiled
    def f(values):
        return sorted(values), [sorted(values, reverse=True)], len(values)

    for n in (3, 3, 5):
        w(f, list(floats(n)))
        w(f, floats(n))


@case
def loops_over_them(w: World) -> None:
    @w.compiled
    def f(x):
        y = 0.0
        for value in x.tolist():
            y = y * 0.5 + value
        return y

    @w.compiled
    def g(x):
        best, at = -1.0, -1
        for i, value in enumerate(np.sort(x).tolist()):
            if value > best:
                best, at = value, i
        return best, at

    for n in (3, 50, 60, 0, 90, 7):
        w(f, floats(n))
        w(g, floats(n))
    for function in (f, g):
        if hasattr(function, "stats"):
            assert function.stats.captures <= 4, function
