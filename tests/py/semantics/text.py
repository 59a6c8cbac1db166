"""What is printed and formatted, and in which order."""

from __future__ import annotations

import logging
import sys

import numpy as np

from semantics.world import World, case, floats, ints


@case
def print_in_order(w: World) -> None:
    @w.compiled
    def f(x):
        print("start", x.shape)
        y = x * 2
        print("sum", y.sum())
        y += 1
        print(y)
        return y

    for n in (3, 3, 2, 0):
        w(f, floats(n))


@case
def print_before_an_error(w: World) -> None:
    @w.compiled
    def f(x, y):
        print("before")
        z = x + y
        print("after", z[0])
        return z

    for n in (3, 3, 2, 1, 0):
        w(f, floats(3), floats(n))


@case
def print_options(w: World) -> None:
    @w.compiled
    def f(x):
        print(x[0], x[1:], sep=" | ", end="!\n", file=sys.stdout)
        print()
        print(*x, sep=",")
        return x + 1

    for n in (3, 3, 2):
        w(f, floats(n))


@case
def f_strings_of_scalars(w: World) -> None:
    @w.compiled
    def f(x, k):
        s = x.sum()
        return f"{s:.3f} {k} {s!r} {x.shape} {len(x):>4} {k + 1:{len(x)}}", x + k

    for n, k in ((3, 1), (3, 1), (3, 2), (5, 1.5), (1, True)):
        w(f, floats(n), k)


@case
def f_strings_of_arrays(w: World) -> None:
    @w.compiled
    def f(x):
        y = x * 2
        return f"{y}", str(y), repr(y), f"{x.dtype}", format(y[0]), "%s %r" % (y, x)

    for x in (floats(3), floats(3), floats(2, 2), ints(3), floats(2, dtype="f4")):
        w(f, x)


@case
def formatting_options_change(w: World) -> None:
    @w.compiled
    def f(x):
        return f"{x / 3}", str(x.sum())

    w(f, floats(3))
    w(f, floats(3))
    with np.printoptions(precision=2):
        w(f, floats(3))
    with np.printoptions(legacy="1.13"):
        w(f, floats(3))
    w(f, floats(3))


@case
def the_program_sets_print_options(w: World) -> None:
    @w.compiled
    def f(x):
        with np.printoptions(precision=1, suppress=True):
            text = str(x / 3)
        return text, str(x / 3)

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def strings_as_arguments(w: World) -> None:
    @w.compiled
    def f(x, name):
        if name == "double":
            return x * 2
        if name.startswith("h"):
            return x / 2
        return {"name": name.upper(), "x": x}

    for name in ("double", "double", "half", "other", "h", "", "double"):
        w(f, floats(3), name)


@case
def strings_are_built_from_values(w: World) -> None:
    @w.compiled
    def f(x):
        words = [f"{v:.1f}" for v in x]
        words.append("end")
        return " ".join(words), "-" * len(x), str(x.tolist()), ["a", "b"][0] + str(len(x))

    for n in (3, 3, 1, 0):
        w(f, floats(n))


@case
def a_format_that_fails(w: World) -> None:
    @w.compiled
    def f(x, spec):
        x += 1
        return f"{x[0]:{spec}}"

    for spec in (".1f", ".1f", "d", "", "zz"):
        w(f, floats(3), spec)
    w(f, ints(3), "d")


@case
def writing_to_a_stream(w: World) -> None:
    class Stream:
        def __init__(self):
            self.text = []

        def write(self, text):
            self.text.append(text)

    stream = w.watch(Stream())

    @w.compiled
    def f(x):
        print("n =", len(x), file=stream)
        sys.stdout.write("direct\n")
        return x * 2

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def logging_from_the_program(w: World) -> None:
    records = w.watch([])

    class Keep(logging.Handler):
        def emit(self, record):
            records.append((record.getMessage(), record.levelname, record.lineno))

    logger = logging.getLogger("semantics")
    logger.propagate = False
    logger.handlers = [Keep()]
    logger.setLevel(logging.INFO)

    @w.compiled
    def f(x):
        logger.info("shape %s", x.shape)
        logger.debug("not shown")
        return x * 2

    for n in (3, 3, 4):
        w(f, floats(n))
    logger.setLevel(logging.DEBUG)
    w(f, floats(3))


@case
def input_is_replaced(w: World) -> None:
    lines = iter(["2", "3", "x", "4"])

    def ask(prompt):
        print(prompt)
        return next(lines)

    @w.compiled
    def f(x):
        return x * int(ask("k?"))

    for _ in range(5):
        w(f, floats(3))


@case
def stdout_is_swapped_by_the_program(w: World) -> None:
    import contextlib
    import io

    @w.compiled
    def f(x):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            print("hidden", len(x))
        print("shown")
        return out.getvalue(), x + 1

    for n in (3, 3, 2):
        w(f, floats(n))


@case
def print_is_replaced(w: World) -> None:
    log = w.watch([])
    names = globals()

    @w.compiled
    def f(x):
        print(len(x))
        return x + 1

    try:
        w(f, floats(3))
        w(f, floats(3))
        names["print"] = log.append
        w(f, floats(3))
        w(f, floats(2))
    finally:
        names.pop("print", None)
    w(f, floats(3))


@case
def pieces_of_computed_text(w: World) -> None:
    @w.compiled
    def f(x):
        head = ", ".join([f"{v:+.2f}" for v in x[:3]])
        words = head.split(", ")
        name, _, rest = f"{len(x)}:{x.sum()}".partition(":")
        return (
            words,
            sorted(words),
            words[0].upper(),
            name,
            rest,
            words[0] == words[-1],
            name in rest,
        )

    for n in (3, 5, 9, 4, 1, 2):
        w(f, floats(n))
        w(f, -floats(n))


@case
def truths_in_a_computed_list(w: World) -> None:
    @w.compiled
    def f(x):
        flags = (x > 0).tolist()
        first, last = flags[0], flags[-1]
        both = first and last
        return flags, first, not last, both, sum(flags), [int(flag) for flag in flags]

    for sign in (1, -1):
        for n in (3, 3, 4):
            w(f, floats(n) * sign)
            w(f, floats(n)[::-1] * sign)
