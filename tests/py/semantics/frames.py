"""Programs that look at their own frame, stack and code, or run text."""

from __future__ import annotations

import inspect
import sys
import traceback

import numpy as np

from semantics.world import World, case, floats


@case
def the_own_line_number(w: World) -> None:
    @w.compiled
    def f(x):
        line = sys._getframe().f_lineno
        return x + 1, line - sys._getframe().f_code.co_firstlineno

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def the_name_of_the_caller(w: World) -> None:
    def who():
        return sys._getframe(1).f_code.co_name

    @w.compiled
    def f(x):
        return x * 2, who(), inspect.currentframe().f_code.co_name

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def locals_of_the_caller(w: World) -> None:
    def peek(name):
        return sys._getframe(1).f_locals[name]

    @w.compiled
    def f(x):
        y = x * 2
        return peek("y") is y, peek("x") + 1

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def eval_and_exec(w: World) -> None:
    @w.compiled
    def f(x, text):
        y = eval(text)
        scope = {"x": x}
        exec("z = x * 3", scope)
        return y, scope["z"]

    for text in ("x + 1", "x + 1", "x * 2", "1 / 0", "nothing", "x +"):
        w(f, floats(3), text)


@case
def vars_dir_and_locals(w: World) -> None:
    @w.compiled
    def f(x):
        a = 1
        first = sorted(vars())
        b = x + a
        return first, sorted(dir()), b, sorted(locals())

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def the_stack_as_text(w: World) -> None:
    @w.compiled
    def f(x):
        names = [frame.name for frame in traceback.extract_stack()]
        return names[-1], x + 1

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def exceptions_that_are_being_handled(w: World) -> None:
    @w.compiled
    def f(x):
        return sys.exc_info()[0], x + 1

    for n in (3, 3):
        w(f, floats(n))
    try:
        raise KeyError("k")
    except KeyError:
        w(f, floats(3))
        w(f, floats(4))
    w(f, floats(3))


@case
def the_context_of_an_exception(w: World) -> None:
    @w.compiled
    def f(x, y):
        return x + y

    for n in (3, 3, 2):
        try:
            raise KeyError("k")
        except KeyError:
            w(f, floats(3), floats(n))


@case
def super_and_class_cells(w: World) -> None:
    class Base:
        def go(self, x):
            return x + 1

    class Child(Base):
        @w.compiled
        def go(self, x):
            return super().go(x) * 2, __class__.__name__, super().go(x)

    c = Child()
    for n in (3, 3, 4):
        w(c.go, floats(n))
    Base.go = lambda self, x: x
    w(c.go, floats(3))


@case
def the_recursion_limit(w: World) -> None:
    @w.compiled
    def f(x, n):
        return x if n == 0 else f(x, n - 1) + 1

    w(f, floats(1), 3)
    w(f, floats(1), 3)
    w(lambda: len(f(floats(1), 40)))
    w(f, floats(1), 3)


@case
def an_exception_is_kept_with_its_frames(w: World) -> None:
    @w.compiled
    def f(x, y):
        z = x * 2
        return z + y

    for n in (3, 3, 2, 3):
        try:
            f(floats(3), floats(n))
        except ValueError as error:
            frame = error.__traceback__.tb_next.tb_frame
            w.note(sorted(frame.f_locals), frame.f_locals["z"])
        w(f, floats(3), floats(3))


@case
def a_debugger_sees_the_lines(w: World) -> None:
    import bdb

    class Tracer(bdb.Bdb):
        def __init__(self):
            super().__init__()
            self.seen = []

        def user_line(self, frame):
            if frame.f_code.co_name == "f":
                self.seen.append((frame.f_lineno, sorted(frame.f_locals)))

    @w.compiled
    def f(x):
        y = x * 2
        z = y + 1
        return z

    w(f, floats(3))
    tracer = Tracer()
    old = sys.gettrace()
    try:
        result = tracer.runcall(f, floats(3))
    finally:
        sys.settrace(old)
    w.note((result, tracer.seen))
    w(f, floats(3))


@case
def annotations_and_nested_classes(w: World) -> None:
    @w.compiled
    def f(x):
        k: int = 2

        class Local:
            scale = k

            def go(self, y):
                return y * self.scale

        return Local().go(x), Local.__qualname__

    for n in (3, 3, 4):
        w(f, floats(n))


@case
def comprehension_scopes(w: World) -> None:
    @w.compiled
    def f(x, n):
        i = 100
        rows = [[x * i + j for j in range(i)] for i in range(n)]
        table = {i: j * 2 for i, j in enumerate(range(n))}
        return rows, i, table, {j % 2 for j in table}, (y := x + 1), y.sum()

    for n in (2, 2, 3, 0):
        w(f, floats(2), n)


@case
def delete_and_reuse_of_names(w: World) -> None:
    @w.compiled
    def f(x):
        y = x + 1
        del x
        x = y * 2
        for y in range(2):
            x = x + y
        del y
        try:
            return y  # noqa: F821
        except UnboundLocalError as error:
            return x, str(error)

    for n in (3, 3, 4):
        w(f, floats(n))
    w(f, np.float32(2))
