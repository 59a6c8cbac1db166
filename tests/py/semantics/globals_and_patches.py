"""Globals that change between calls, and functions replaced behind the program's back."""

# ruff: noqa: N806

from __future__ import annotations

import builtins
import math
import types

import numpy as np

from semantics.world import World, case, floats, ints

SCALE = 2.0
TABLE: dict = {}
ARRAY = floats(3)
COUNT = 0


def helper(x):
    return x + 1


@case
def a_global_number_changes(w: World) -> None:
    global SCALE

    @w.compiled
    def f(x):
        return x * SCALE

    for value in (2.0, 2.0, 3.0, 3, np.float32(2), True, "a", 2.0):
        SCALE = value
        w(f, floats(3))
        w(f, ints(2))


@case
def a_global_array_is_rebound_and_written(w: World) -> None:
    global ARRAY
    ARRAY = floats(3)

    @w.compiled
    def f(x):
        return x + ARRAY

    w(f, floats(3))
    w(f, floats(3))
    ARRAY += 1
    w(f, floats(3))
    ARRAY = np.ones(3)
    w(f, floats(3))
    ARRAY = np.ones(5)
    w(f, floats(3))
    w(f, floats(5))
    ARRAY = np.ones(3, "f4")
    w(f, floats(3, dtype="f4"))
    ARRAY[0] = 9
    w(f, floats(3, dtype="f4"))


@case
def a_global_is_written_by_the_program(w: World) -> None:
    global COUNT
    COUNT = 0

    @w.compiled
    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    for n in (3, 3, 3, 5):
        w(f, floats(n))
        w.note(COUNT)
    COUNT = 0
    w(f, floats(3))
    w.note(COUNT)


@case
def a_global_is_deleted(w: World) -> None:
    global EXTRA

    @w.compiled
    def f(x):
        return x * EXTRA

    EXTRA = 2
    w(f, floats(3))
    w(f, floats(3))
    del EXTRA
    w(f, floats(3))
    EXTRA = 3
    w(f, floats(3))


EXTRA = 2


@case
def a_global_shadows_a_builtin(w: World) -> None:
    @w.compiled
    def f(x):
        return len(x), x * 2

    names = globals()
    try:
        w(f, floats(3))
        w(f, floats(3))
        names["len"] = lambda x: -1
        w(f, floats(3))
        w(f, floats(3))
        del names["len"]
        w(f, floats(3))
        w(f, floats(4))
    finally:
        names.pop("len", None)


@case
def a_builtin_is_replaced(w: World) -> None:
    @w.compiled
    def f(x):
        return abs(x) + 1, sum(x)

    old = builtins.abs
    try:
        for new in (old, old, lambda x: x * 100, old, old):
            builtins.abs = new
            w(f, floats(3))
    finally:
        builtins.abs = old


@case
def a_helper_is_replaced(w: World) -> None:
    global helper
    old = helper

    @w.compiled
    def f(x):
        return helper(x) * 2

    try:
        for new in (old, old, lambda x: x - 1, old, np.sqrt, None, old):
            helper = new
            w(f, floats(3) + 4)
            w(f, floats(3) + 4)
    finally:
        helper = old


@case
def the_code_of_a_helper_is_replaced(w: World) -> None:
    def inner(x, k=1):
        return x + k

    def other(x, k=1):
        return x - k

    @w.compiled
    def f(x):
        return inner(x) * 2

    w(f, floats(3))
    w(f, floats(3))
    inner.__defaults__ = (5,)
    w(f, floats(3))
    inner.__code__ = other.__code__
    w(f, floats(3))
    inner.__defaults__ = (1,)
    w(f, floats(3))


@case
def a_numpy_function_is_replaced(w: World) -> None:
    @w.compiled
    def f(x):
        return np.sqrt(x * x), np.sum(x)

    log = w.watch([])

    def sqrt(x):
        log.append("mine")
        return x

    old = np.sqrt
    try:
        for new in (old, old, sqrt, old, np.square, old):
            np.sqrt = new
            w(f, floats(3))
    finally:
        np.sqrt = old


@case
def a_module_function_is_replaced(w: World) -> None:
    module = types.ModuleType("settings")
    module.scale = 2
    module.act = lambda x: x * module.scale

    @w.compiled
    def f(x):
        return module.act(x) + module.scale

    w(f, floats(3))
    w(f, floats(3))
    module.scale = 3
    w(f, floats(3))
    module.act = lambda x: x
    w(f, floats(3))
    del module.scale
    w(f, floats(3))
    module.__getattr__ = lambda name: 7
    w(f, floats(3))
    w(f, floats(3))


@case
def math_is_replaced_by_numpy(w: World) -> None:
    global math
    real = math

    @w.compiled
    def f(x):
        return x * math.floor(2.5), math.pi

    try:
        for module in (real, real, np, real, types.SimpleNamespace(floor=int, pi=3), real):
            math = module
            w(f, floats(3))
            w(f, floats(3))
    finally:
        math = real


@case
def a_global_dict_is_the_settings(w: World) -> None:
    global TABLE
    TABLE = {"scale": 2, "shift": floats(3), "on": True}

    @w.compiled
    def f(x):
        y = x * TABLE["scale"] + TABLE["shift"]
        return -y if TABLE["on"] else y

    w(f, floats(3))
    w(f, floats(3))
    TABLE["scale"] = 3
    w(f, floats(3))
    TABLE["on"] = False
    w(f, floats(3))
    TABLE["on"] = []
    w(f, floats(3))
    TABLE["shift"][0] = 5
    w(f, floats(3))
    del TABLE["scale"]
    w(f, floats(3))
    TABLE = {"on": 1, "shift": 0, "scale": 1}
    w(f, floats(3))


@case
def a_flag_decides(w: World) -> None:
    global FLAG

    @w.compiled
    def f(x):
        if FLAG:
            return x + 1
        return x - 1

    for value in (True, True, False, True, 0, 1, None, "yes", np.bool_(False), floats(2)):
        FLAG = value
        w(f, floats(3))


FLAG = True


@case
def a_global_class_is_replaced(w: World) -> None:
    global Thing

    @w.compiled
    def f(x):
        return Thing().apply(x)

    class First:
        def apply(self, x):
            return x + 1

    class Second:
        def apply(self, x):
            return x * 2

    for kind in (First, First, Second, First):
        Thing = kind
        w(f, floats(3))
    First.apply = lambda self, x: x - 1
    w(f, floats(3))
    First.__init__ = lambda self: setattr(self, "apply", lambda x: x * 5)
    w(f, floats(3))


Thing: type = object


@case
def global_statement_creates_a_name(w: World) -> None:
    global CREATED
    globals().pop("CREATED", None)

    @w.compiled
    def f(x):
        global CREATED
        CREATED = x * 2
        return CREATED + 1

    for n in (3, 3, 5):
        w(f, floats(n))
        w.note(globals().pop("CREATED"))
    w(f, floats(3))
    w.note("CREATED" in globals())


CREATED = None


@case
def an_import_within(w: World) -> None:
    @w.compiled
    def f(x):
        import math as m
        from math import floor

        import numpy

        return numpy.sqrt(x * x), m.floor(1.5), floor(2.5)

    for n in (3, 3, 5, 0):
        w(f, floats(n))


@case
def a_method_of_a_numpy_module_attribute(w: World) -> None:
    namespace = types.SimpleNamespace(xp=np)

    @w.compiled
    def f(x):
        xp = namespace.xp
        return xp.add(x, 1), xp.zeros(2)

    for _ in range(2):
        w(f, floats(3))
    namespace.xp = types.SimpleNamespace(add=lambda a, b: (a, b), zeros=list)
    w(f, floats(3))
    namespace.xp = np
    w(f, floats(3))
