"""Objects that look like something else, and memory under two names of different kinds."""

from __future__ import annotations

import array
import dataclasses
import types
from unittest import mock

import numpy as np

from semantics.world import World, case, floats


class Bag:
    """Something with attributes."""

    def __init__(self, **values):
        self.__dict__.update(values)


@case
def the_real_part_under_another_name(w: World) -> None:
    @w.compiled
    def f(z, r):
        before = z * 2
        r += 1
        middle = z * 2
        z[0] = 5
        return before, middle, r * 1

    for shared in (False, False, True, False, True):
        z = floats(3) + 1j
        w(f, z, z.real if shared else floats(3))


@case
def bytes_under_another_name(w: World) -> None:
    @w.compiled
    def f(x, raw):
        before = raw * 1
        x += 1
        return before, raw * 1, raw.sum(), x

    for shared in (False, False, True, False, True):
        x = floats(3)
        w(f, x, x.view(np.uint8) if shared else np.zeros(24, np.uint8))
        w(f, x, x.view(">f8") if shared else np.zeros(3, ">f8"))


@case
def a_field_under_another_name(w: World) -> None:
    @w.compiled
    def f(r, a):
        a += 1
        total = r["a"] + r["b"]
        r["b"] = 7
        return total, a * 1, r["b"].sum()

    for shared in (False, False, True, False, True):
        r = np.zeros(3, [("a", "f8"), ("b", "f8")])
        w(f, r, r["a"] if shared else floats(3))
        w(f, r, r["b"] if shared else floats(3))


@case
def buffers_of_python_under_arrays(w: World) -> None:
    @w.compiled
    def f(x, buffer):
        x += 1
        first = buffer[0]
        y = np.frombuffer(buffer)
        x += 1
        return first, y * 1, bytes(buffer), memoryview(buffer).nbytes

    for _ in range(3):
        buffer = bytearray(24)
        w(f, np.frombuffer(buffer), buffer)
        w(f, floats(3), buffer)
        numbers = array.array("d", [1, 2, 3])
        w(f, np.frombuffer(numbers), numbers)


@case
def an_array_within_an_object_array(w: World) -> None:
    @w.compiled
    def f(box, x):
        x += 1
        inner = box[0]
        inner *= 2
        return inner * 1, x * 1, inner is x, box

    for shared in (False, False, True, True):
        x = floats(3)
        box = np.empty(2, object)
        box[0], box[1] = (x if shared else floats(3)), 5
        w(f, box, x)


@case
def zero_dimensional_arrays_are_written(w: World) -> None:
    @w.compiled
    def f(x, y):
        before = x * 1
        x += 1
        x[...] = x * 2
        y[()] = x + 5
        x[()] += 1
        return before, x, y, x + y

    for v in (1.0, 1.0, 2.0):
        w(f, np.array(v), np.array(0.0))
        one = np.array(v)
        w(f, one, one)
        w(f, floats(3)[1:2].reshape(()), np.array(0))


@case
def mocks_that_claim_a_type(w: World) -> None:
    @w.compiled
    def f(m, x):
        kind = type(m).__name__
        if isinstance(m, (np.ndarray, np.generic)):
            return kind, m.shape, x + 1
        if isinstance(m, (int, float)):
            return kind, x * 2
        if isinstance(m, (str, list, tuple, dict)):
            return kind, len(m)
        return kind, callable(m), x

    specs = (floats(2, 2), np.float64(2), 3, "ab", [1], (1, 2), {"a": 1}, abs, Bag(), int)
    for real in specs:
        w(f, real, floats(2))
        fake = mock.MagicMock(spec=real)
        fake.shape = (2,)
        result = f(fake, floats(2))
        w.note([str(r) if not isinstance(r, np.ndarray) else r for r in result])
        w(f, real, floats(2))


@case
def properties_that_lie_about_the_class(w: World) -> None:
    def liar(kind):
        class Liar:
            __class__ = property(lambda self: kind)

        return Liar()

    @w.compiled
    def f(m, x):
        return isinstance(m, type(x)), m is x, x + 1

    kinds = (np.ndarray, np.float64, tuple, list, str, dict, types.FunctionType, type, int, bool)
    for kind in kinds:
        m = liar(kind)
        for _ in range(2):
            w.note(*f(m, floats(2)))
            w.note(*f(3, floats(2)))


@case
def a_subclass_of_a_numpy_scalar(w: World) -> None:
    class Metres(np.float64):
        __array_priority__ = 100

        def __rmul__(self, other):
            return "metres"

        def __add__(self, other):
            return Metres(float(self) + float(other))

    @w.compiled
    def f(x, k):
        return x * k, k, type(k).__name__, k + 1

    for k in (np.float64(2), Metres(2), np.float64(2), Metres(3), 2.0):
        w(f, floats(3), k)
        w(f, floats(3), k)


@case
def classes_that_hash_loudly(w: World) -> None:
    log = w.watch([])

    class Meta(type):
        def __hash__(cls):
            log.append("hash")
            return 1

        def __eq__(cls, other):
            log.append("eq")
            return cls is other

    class Model(metaclass=Meta):
        def __init__(self, x):
            self.x = x

    @w.compiled
    def f(x):
        m = Model(x + 1)
        return m.x * 2, isinstance(m, Model)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def callables_that_hash_loudly(w: World) -> None:
    log = w.watch([])

    class Scale:
        __hash__ = None

        def __eq__(self, other):
            log.append("eq")
            return True

        def __call__(self, x):
            return x * 2

    scale = Scale()

    @w.compiled
    def f(x, g):
        return scale(x) + g(x)

    for n in (2, 2, 3):
        w(f, floats(n), Scale())


@case
def frozen_dataclasses_made_within(w: World) -> None:
    @dataclasses.dataclass(frozen=True)
    class Point:
        x: object
        y: float = 2.0

    @dataclasses.dataclass(slots=True)
    class Slotted:
        x: object
        n: int = 0

    @w.compiled
    def f(x):
        p = Point(x + 1)
        s = Slotted(p.x * 2)
        s.n += 1
        return p, s, dataclasses.replace(p, y=3.0), p.y + s.n

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def exceptions_as_values(w: World) -> None:
    class FailureError(Exception):
        def __init__(self, x, code=3):
            super().__init__(x, code)
            self.code = code

    @w.compiled
    def f(x):
        e = FailureError(x + 1)
        g = ValueError("no", e.code)
        return e, g, e.args[0] * 2, str(g)

    for n in (2, 2, 3):
        w(f, floats(n))


@case
def named_tuples_with_behaviour(w: World) -> None:
    class Pair(tuple):
        __slots__ = ()

        def __getitem__(self, i):
            return 10 * tuple.__getitem__(self, i)

        def __len__(self):
            return 5

        def __iter__(self):
            return iter((7, 8))

    @w.compiled
    def f(t, x):
        a, b = t
        return x * t[0], len(t), a, b, list(t), t + (1,)  # noqa: RUF005

    for t in ((1, 2), (1, 2), Pair((1, 2)), (1, 2), Pair((3, 4))):
        w(f, t, floats(2))


@case
def numbers_with_behaviour(w: World) -> None:
    class Loud(float):
        def __mul__(self, other):
            return "mul"

        def __bool__(self):
            return False

        def __eq__(self, other):
            return True

        __hash__ = float.__hash__

    class Index(int):
        def __index__(self):
            return 0

        def __add__(self, other):
            return 100

    @w.compiled
    def f(k, i, x):
        return k * 2, (1 if k else 2), k == 99, x[i], i + 1, x * float(k)

    for k, i in ((2.0, 1), (2.0, 1), (Loud(2), Index(1)), (2.0, 1), (Loud(3), 1), (2.0, Index(1))):
        w(f, k, i, floats(3))


@case
def two_functions_share_a_cell(w: World) -> None:
    n, total = 0, floats(2)

    @w.compiled
    def step(x):
        nonlocal n, total
        n += 1
        total = total + x
        return n

    @w.compiled
    def read(x):
        return x * n, total * 2

    for size in (2, 2, 2):
        w(step, floats(size))
        w(read, floats(size))
    n = 10
    w(read, floats(2))
    w(step, floats(2))
    w(read, floats(2))


@case
def a_saved_method_sees_the_write(w: World) -> None:
    @w.compiled
    def f(x, items):
        total, append = x.sum, items.append
        x += 1
        append(total())
        x = x * 10
        append(total())
        return items, x

    for n in (2, 2, 3):
        w(f, floats(n), [])


@case
def containers_multiplied_and_grown(w: World) -> None:
    @w.compiled
    def f(items, t, s, x):
        t += (x,)
        items *= 2
        items[0] = x
        del items[2:]
        s |= {len(items)}
        rows = [[x]] * 2
        rows[0].append(1)
        return items, t, s, rows, rows[0] is rows[1]

    for n in (1, 1, 3, 0):
        w(f, [5] * n, (1,) * n, {1}, floats(2))
