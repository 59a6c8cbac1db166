"""The recorder: one construct of the language per case, with the events it must record.

A case reads `e<n> kind name (operands) keywords -> alias`. Operands are named by where they come
from: arg0, a global's name, =constant, cell, default<slot>, or e<n>, the result of an event. A star
after the kind: Python code that ran for the event is recorded after it.
"""

# ruff: noqa: ARG001, ARG004, C416, C420  (the programs are what they are)
from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from recordings import event_lines, leaves, node_text, record  # noqa: F401

COUNTER = 0
CASES: list[Any] = []


def case(
    *args: Any, expected: str, inlined: str = "", since_314: str = "", result: str = ""
) -> Callable[[Any], Any]:
    """Register the function under test with its arguments and the events it must record.

    inlined: the events where comprehensions are no functions of their own: since CPython 3.12.
    """

    def register(function: Any) -> Any:
        text = inlined if inlined and sys.version_info >= (3, 12) else expected
        text = since_314 if since_314 and sys.version_info >= (3, 14) else text
        lines = [line.strip() for line in text.strip().splitlines()]
        CASES.append(pytest.param(function, args, lines, result, id=function.__name__))
        return function

    return register


def add(a: Any, b: Any = 2, *rest: Any, scale: Any = 1, **named: Any) -> Any:
    return a + b


def identity(x: Any) -> Any:
    return x


class Vector:
    scale = 2

    def __init__(self, x: Any) -> None:
        self.x = x

    @property
    def double(self) -> Any:
        return self.x

    @double.setter
    def double(self, value: Any) -> None:
        self.x = value

    @classmethod
    def make(cls, x: Any) -> Any:
        return cls(x)

    @staticmethod
    def zero() -> Any:
        return 0

    def method(self, y: Any) -> Any:
        return y

    def __add__(self, other: Any) -> Any:
        return other

    def __rsub__(self, other: Any) -> Any:
        return other

    def __iadd__(self, other: Any) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __getitem__(self, key: Any) -> Any:
        return key

    def __setitem__(self, key: Any, value: Any) -> None:
        pass

    def __contains__(self, item: Any) -> bool:
        return True

    def __len__(self) -> int:
        return 3

    def __bool__(self) -> bool:
        return False

    def __neg__(self) -> Any:
        return self

    def __call__(self, y: Any) -> Any:
        return y

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None


class Made:
    def __new__(cls, x: Any) -> Any:
        return object.__new__(cls)

    def __init__(self, x: Any) -> None:
        self.x = x


class Child(Vector):
    def __init__(self, x: Any) -> None:
        super().__init__(x)


@case(1, 2, expected="e0 binary + (arg0 arg1)")
def addition(x: Any, y: Any) -> Any:
    return x + y


@case(3, expected="e0 inplace * (arg0 =2)\ne1 inplace ** (e0 =2)")
def inplace(x: Any) -> Any:
    x *= 2
    x **= 2
    return x


@case(3, expected="e0 unary - (arg0)\ne1 unary ~ (e0)\ne2 unary not (e1)\ne3 unary + (e2)")
def unary(x: Any) -> Any:
    return +(not ~-x)


@case(3, expected="e0 compare < (=1 arg0)\ne1 branch truth (e0) 1\ne2 compare <= (arg0 =5)")
def chain(x: Any) -> Any:
    return 1 < x <= 5


@case(
    [1],
    None,
    expected="""
    e0 is is not (arg0 arg1)
    e1 contains not in (=1 arg0)
    e2 tuple (e0 e1)""",
)
def membership(x: Any, y: Any) -> Any:
    return x is not y, 1 not in x


OF_ELEMENTS = """
    e0 subscript (arg0 =0)
    e1 slice (=1 =None)
    e2 subscript (arg0 e1)
    e3 slice (=0 =2 =1)
    e4 store_subscript (arg0 e3 =(5, 6))
    e5 store_subscript (arg0 =1 =7)
    e6 delete_subscript (arg0 =0)
    e7 tuple (e0 e2)"""


@case(
    [1, 2],
    expected=OF_ELEMENTS,
    since_314=OF_ELEMENTS.replace(" slice (", " slice constant ("),
)
def elements(x: Any) -> Any:
    first, rest = x[0], x[1:]
    x[0:2:1] = (5, 6)
    x[1] = 7
    del x[0]
    return (first, rest)


@case(
    3,
    expected="""
    e0 branch truth (arg0) 1
    e1 branch none (arg0) 0
    e2 branch truth (arg0) 1
    e3 branch truth (=0) 0""",
    result="=0",
)
def branches(x: Any) -> Any:
    if not x:
        return 1
    if x is None:
        return 2
    zero = 0
    return (x and zero) or 0


@case(
    [5, 6],
    expected="""
    e0 iter (arg0)
    e1 next (e0)
    e2 inplace + (=0 e1)
    e3 next (e0)
    e4 inplace + (e2 e3)
    e5 next exhausted (e0)""",
    result="e4",
)
def loop(xs: Any) -> Any:
    total = 0
    for x in xs:
        total += x
    return total


@case(
    2,
    expected="""
    e0 branch truth (arg0) 1
    e1 inplace - (arg0 =1)
    e2 branch truth (e1) 1
    e3 inplace - (e1 =1)
    e4 branch truth (e3) 0""",
)
def while_loop(x: Any) -> Any:
    while x:
        x -= 1
    return x


@case(
    1,
    [2],
    {"k": 3},
    expected="""
    e0 list (arg0)
    e1 list_extend (e0 arg1)
    e2 set (arg0)
    e3 set_update (e2 arg1)
    e4 dict (=1 arg0)
    e5 dict_update (e4 arg2)
    e6 dict (='a' arg0 ='b' arg1)
    e7 list (arg0)
    e8 list_extend (e7 arg1)
    e9 list_to_tuple (e7)
    e10 tuple (e0 e2 e4 e6 e9)""",
)
def displays(x: Any, more: Any, named: Any) -> Any:
    return [x, *more], {x, *more}, {1: x, **named}, {"a": x, "b": more}, (x, *more)


@case(
    (1, 2, 3),
    expected="""
    e0 unpack 0/1*1 (arg0)
    e1 unpack 1/1*1 (arg0)
    e2 unpack 2/1*1 (arg0)
    e3 tuple (e2 e1)
    e4 unpack 0/2 (e3)
    e5 unpack 1/2 (e3)
    e6 tuple (e0 e4 e5)""",
)
def unpacking(t: Any) -> Any:
    a, *b, c = t
    pair = (c, b)
    p, q = pair
    return a, p, q


@case(
    3,
    expected="""
    e0 format r (arg0)
    e1 format (arg0)
    e2 format (arg0 ='>4')
    e3 string (=' ' e0 e1 e2)""",
)
def text(x: Any) -> Any:
    return f" {x!r}{x}{x:>4}"


@case(
    1,
    expected="""
    e0 call* (add arg0 =2) -> e4
    e1 tuple ()
    e2 dict ()
    e3 enter add (arg0 =2 default2 e1 e2 add)
    e4 binary + (arg0 =2)
    e5 leave (e4)""",
    result="e4",
)
def call_default(x: Any) -> Any:
    return add(x, 2)


@case(
    1,
    expected="""
    e0 call* (add arg0 =5 =6 =7 =8) scale,extra -> e4
    e1 tuple (=6)
    e2 dict (='extra' =8)
    e3 enter add (arg0 =5 =7 e1 e2 add)
    e4 binary + (arg0 =5)
    e5 leave (e4)""",
)
def call_everything(x: Any) -> Any:
    return add(x, 5, 6, scale=7, extra=8)


@case(
    (1, 2),
    {"scale": 3},
    expected="""
    e0 dict ()
    e1 dict_merge (e0 arg1)
    e2 call_ex* (add arg0 e0) -> e9
    e3 subscript (arg0 =0)
    e4 subscript (arg0 =1)
    e5 subscript (e0 ='scale')
    e6 tuple ()
    e7 dict ()
    e8 enter add (e3 e4 e5 e6 e7 add)
    e9 binary + (e3 e4)
    e10 leave (e9)""",
)
def call_spread(a: Any, k: Any) -> Any:
    return add(*a, **k)


@case(
    [1],
    expected="""
    e0 attribute append (arg0)
    e1 call (e0 =2)
    e2 attribute append (arg0)
    e3 call (e2 =3)""",
    result="=None",
)
def methods(x: Any) -> Any:
    x.append(2)
    keep = x.append
    keep(3)


@case(
    4,
    expected="""
    e0 call* (Vector arg0) -> e1
    e1 new (Vector)
    e2 enter Vector.__init__ (e1 arg0 =__init__)
    e3 store_attribute x (e1 arg0)
    e4 leave (=None)""",
    result="e1",
)
def construct(x: Any) -> Any:
    return Vector(x)


@case(
    4,
    expected="""
    e0 call* (Made arg0) -> e3
    e1 enter Made.__new__ (Made arg0 =__new__)
    e2 attribute __new__ (object)
    e3 call (e2 Made)
    e4 leave (e3)
    e5 enter Made.__init__ (e3 arg0 =__init__)
    e6 store_attribute x (e3 arg0)
    e7 leave (=None)""",
)
def construct_new(x: Any) -> Any:
    return Made(x)


@case(
    4,
    expected="""
    e0 call* (Child arg0) -> e1
    e1 new (Child)
    e2 enter Child.__init__ (e1 arg0 =__init__)
    e3 call (super)
    e4 attribute __init__ (e3)
    e5 call* (e4 arg0) -> =None
    e6 attribute __self__ (e4)
    e7 enter Vector.__init__ (e6 arg0 =__init__)
    e8 store_attribute x (e6 arg0)
    e9 leave (=None)
    e10 leave (=None)""",
)
def inheritance(x: Any) -> Any:
    return Child(x)


@case(
    Vector(1),
    expected="""
    e0 attribute* double (arg0) -> e2
    e1 enter Vector.double (arg0 =double)
    e2 attribute x (arg0)
    e3 leave (e2)
    e4 store_attribute* double (arg0 =5)
    e5 enter Vector.double (arg0 =5 =double)
    e6 store_attribute x (arg0 =5)
    e7 leave (=None)
    e8 delete_attribute x (arg0)""",
    result="e2",
)
def attributes(v: Any) -> Any:
    old = v.double
    v.double = 5
    del v.x
    return old


@case(
    Vector(1),
    expected="""
    e0 attribute method (arg0)
    e1 call* (e0 =1) -> =1
    e2 enter Vector.method (arg0 =1 e0)
    e3 leave (=1)
    e4 attribute method (arg0)
    e5 call* (e4 =2) -> =2
    e6 enter Vector.method (arg0 =2 =method)
    e7 leave (=2)
    e8 attribute zero (Vector)
    e9 call* (e8) -> =0
    e10 enter Vector.zero (e8)
    e11 leave (=0)""",
)
def bound_methods(v: Any) -> Any:
    v.method(1)
    later = v.method
    later(2)
    return Vector.zero()


@case(
    4,
    expected="""
    e0 attribute make (Vector)
    e1 call* (e0 arg0) -> e4
    e2 enter Vector.make (Vector arg0 =make)
    e3 call* (Vector arg0) -> e4
    e4 new (Vector)
    e5 enter Vector.__init__ (e4 arg0 =__init__)
    e6 store_attribute x (e4 arg0)
    e7 leave (=None)
    e8 leave (e4)""",
)
def class_method(x: Any) -> Any:
    return Vector.make(x)


@case(
    Vector(1),
    expected="""
    e0 binary* + (arg0 =1) -> =1
    e1 enter Vector.__add__ (arg0 =1 =__add__)
    e2 leave (=1)
    e3 binary* - (=1 arg0) -> =1
    e4 enter Vector.__rsub__ (arg0 =1 =__rsub__)
    e5 leave (=1)
    e6 inplace* + (arg0 =1) -> arg0
    e7 enter Vector.__iadd__ (arg0 =1 =__iadd__)
    e8 leave (arg0)
    e9 unary* - (arg0) -> arg0
    e10 enter Vector.__neg__ (arg0 =__neg__)
    e11 leave (arg0)""",
)
def operators(v: Any) -> Any:
    v + 1
    1 - v
    v += 1
    return -v


@case(
    Vector(1),
    expected="""
    e0 compare* == (arg0 =1) -> =True
    e1 enter Vector.__eq__ (arg0 =1 =__eq__)
    e2 leave (=True)
    e3 compare* != (arg0 =1)
    e4 enter Vector.__eq__ (arg0 =1 =__eq__)
    e5 leave (=True)
    e6 contains* in (=1 arg0) -> =True
    e7 enter Vector.__contains__ (arg0 =1 =__contains__)
    e8 leave (=True)
    e9 tuple (=True e3 =True)""",
)
def comparisons(v: Any) -> Any:
    return v == 1, v != 1, 1 in v


@case(
    Vector(1),
    expected="""
    e0 subscript* (arg0 =1) -> =1
    e1 enter Vector.__getitem__ (arg0 =1 =__getitem__)
    e2 leave (=1)
    e3 store_subscript* (arg0 =1 =2)
    e4 enter Vector.__setitem__ (arg0 =1 =2 =__setitem__)
    e5 leave (=None)
    e6 call* (len arg0) -> =3
    e7 enter Vector.__len__ (arg0 =__len__)
    e8 leave (=3)
    e9 branch* truth (arg0) 0
    e10 enter Vector.__bool__ (arg0 =__bool__)
    e11 leave (=False)
    e12 call* (arg0 =9) -> =9
    e13 enter Vector.__call__ (arg0 =9 =__call__)
    e14 leave (=9)""",
)
def container_protocol(v: Any) -> Any:
    v[1]
    v[1] = 2
    len(v)
    if v:
        return 0
    return v(9)


OF_A_WITH = """
    e0 attribute __exit__ (arg0)
    e1 with_enter* (arg0) -> arg0
    e2 enter Vector.__enter__ (arg0 =__enter__)
    e3 leave (arg0)
    e4 attribute x (arg0)
    e5 call* (e0 =None =None =None) -> =None
    e6 tuple (=None =None =None)
    e7 enter Vector.__exit__ (arg0 e6 =__exit__)
    e8 leave (=None)"""


@case(
    Vector(1),
    expected=OF_A_WITH,
    since_314=OF_A_WITH.replace("e6 =__exit__)", "e6 e0)"),
    result="e4",
)
def with_statement(v: Any) -> Any:
    with v as same:
        inside = same.x
    return inside


@case(
    [1, 0],
    3,
    expected="""
    e0 tuple (=cell)
    e1 function comprehension.<locals>.<listcomp> (=<listcomp> e0) closure
    e2 iter (arg0)
    e3 call* (e1 e2) -> e5
    e4 enter comprehension.<locals>.<listcomp> (e2 e1)
    e5 list ()
    e6 next (e2)
    e7 branch truth (e6) 1
    e8 binary * (e6 arg1)
    e9 list_append (e5 e8)
    e10 next (e2)
    e11 branch truth (e10) 0
    e12 next exhausted (e2)
    e13 leave (e5)""",
    inlined="""
    e0 iter (arg0)
    e1 list ()
    e2 next (e0)
    e3 branch truth (e2) 1
    e4 binary * (e2 arg1)
    e5 list_append (e1 e4)
    e6 next (e0)
    e7 branch truth (e6) 0
    e8 next exhausted (e0)""",
)
def comprehension(xs: Any, k: Any) -> Any:
    return [x * k for x in xs if x]


@case(
    [1],
    expected="""
    e0 function set_and_dict.<locals>.<setcomp> (=<setcomp>)
    e1 iter (arg0)
    e2 call* (e0 e1) -> e4
    e3 enter set_and_dict.<locals>.<setcomp> (e1 e0)
    e4 set ()
    e5 next (e1)
    e6 set_add (e4 e5)
    e7 next exhausted (e1)
    e8 leave (e4)
    e9 function set_and_dict.<locals>.<dictcomp> (=<dictcomp>)
    e10 iter (arg0)
    e11 call* (e9 e10) -> e13
    e12 enter set_and_dict.<locals>.<dictcomp> (e10 e9)
    e13 dict ()
    e14 next (e10)
    e15 map_add (e13 e14 =1)
    e16 next exhausted (e10)
    e17 leave (e13)
    e18 tuple (e4 e13)""",
    inlined="""
    e0 iter (arg0)
    e1 set ()
    e2 next (e0)
    e3 set_add (e1 e2)
    e4 next exhausted (e0)
    e5 iter (arg0)
    e6 dict ()
    e7 next (e5)
    e8 map_add (e6 e7 =1)
    e9 next exhausted (e5)
    e10 tuple (e1 e6)""",
)
def set_and_dict(xs: Any) -> Any:
    return {x for x in xs}, {x: 1 for x in xs}


@case(
    1,
    expected="""
    e0 dict (='y' =2)
    e1 tuple (=cell)
    e2 function inner_function.<locals>.inner (=inner =(1,) e0 =('x', 'Any', 'y', 'Any', \
'return', 'Any') e1) defaults,kwdefaults,annotations,closure
    e3 call* (e2) -> e6
    e4 enter inner_function.<locals>.inner (default0 default1 e2)
    e5 binary + (default0 default1)
    e6 binary + (e5 arg0)
    e7 leave (e6)""",
    since_314="""
    e0 dict (='y' =2)
    e1 function inner_function.<locals>.__annotate__ (=__annotate__)
    e2 tuple (=cell)
    e3 function inner_function.<locals>.inner (=inner =(1,) e0 e2 e1) \
defaults,kwdefaults,closure,annotate
    e4 call* (e3) -> e7
    e5 enter inner_function.<locals>.inner (default0 default1 e3)
    e6 binary + (default0 default1)
    e7 binary + (e6 arg0)
    e8 leave (e7)""",
)
def inner_function(k: Any) -> Any:
    def inner(x: Any = 1, *, y: Any = 2) -> Any:
        return x + y + k

    return inner()


def make_counter() -> Any:
    count = 0

    def counter(step: Any) -> Any:
        nonlocal count
        count += step
        return count

    return counter


CASES.append(
    pytest.param(
        make_counter(),
        (2,),
        ["e0 inplace + (cell arg0)", "e1 store_cell (e0 =cell)"],
        "e0",
        id="nonlocal_store",
    )
)


@case(
    1,
    expected="""
    e0 inplace + (COUNTER arg0)
    e1 store_global COUNTER (e0 =globals)""",
    result="e0",
)
def global_store(x: Any) -> Any:
    global COUNTER
    COUNTER += x
    return COUNTER


@case(
    3,
    expected="""
    e0 import math (=None =0)
    e1 import math (=('pi',) =0)
    e2 import_from pi (e1)
    e3 attribute sqrt (e0)
    e4 call (e3 arg0)
    e5 tuple (e4 e2)""",
)
def imports(x: Any) -> Any:
    import math
    from math import pi

    return math.sqrt(x), pi


class Countdown:
    def __init__(self, n: Any) -> None:
        self.n = n

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


@case(
    Countdown(1),
    expected="""
    e0 iter* (arg0) -> arg0
    e1 enter Countdown.__iter__ (arg0 =__iter__)
    e2 leave (arg0)
    e3 next* (arg0) -> e11
    e4 enter Countdown.__next__ (arg0 =__next__)
    e5 attribute n (arg0)
    e6 compare == (e5 =0)
    e7 branch truth (e6) 0
    e8 attribute n (arg0)
    e9 inplace - (e8 =1)
    e10 store_attribute n (arg0 e9)
    e11 attribute n (arg0)
    e12 leave (e11)
    e13 next* exhausted (arg0)
    e14 enter Countdown.__next__ (arg0 =__next__)
    e15 attribute n (arg0)
    e16 compare == (e15 =0)
    e17 branch truth (e16) 1
    e18 leave exhausted ()""",
    result="=None",
)
def iterator(xs: Any) -> Any:
    for _ in xs:
        pass


PARTIAL = functools.partial(add, 1, scale=3)


@case(
    5,
    expected="""
    e0 call* (PARTIAL arg0) -> e8
    e1 attribute args (PARTIAL)
    e2 subscript (e1 =0)
    e3 attribute keywords (PARTIAL)
    e4 subscript (e3 ='scale')
    e5 tuple ()
    e6 dict ()
    e7 enter add (e2 arg0 e4 e5 e6 =add)
    e8 binary + (e2 arg0)
    e9 leave (e8)""",
)
def partial(x: Any) -> Any:
    return PARTIAL(x)


@case(
    [3, 1],
    expected="""
    e0 function sorting.<locals>.<lambda> (=<lambda>)
    e1 call (sorted arg0 e0) key
    e2 calls_back (=<lambda>)
    e3 given 0 (=<lambda>)
    e4 enter sorting.<locals>.<lambda> (e3 =<lambda>)
    e5 unary - (e3)
    e6 leave (e5)
    e7 calls_back (=<lambda>)
    e8 given 0 (=<lambda>)
    e9 enter sorting.<locals>.<lambda> (e8 =<lambda>)
    e10 unary - (e8)
    e11 leave (e10)""",
)
def sorting(xs: Any) -> Any:
    return sorted(xs, key=lambda x: -x)


@case(
    [1],
    expected="""
    e0 function generator.<locals>.<genexpr> (=<genexpr>)
    e1 iter (arg0)
    e2 call (e0 e1)
    e3 call (sum e2)
    e4 resumes (e2)
    e5 given 0 (=<genexpr>)
    e6 enter generator.<locals>.<genexpr> (e5 =<genexpr>)
    e7 next (e5)
    e8 yields (e7)
    e9 resumes (e2)
    e10 next exhausted (e5)
    e11 leave (=None)""",
)
def generator(xs: Any) -> Any:
    return sum(x for x in xs)


@pytest.mark.parametrize(("function", "args", "expected", "result"), CASES)
def test_records(function: Any, args: Any, expected: list[str], result: str) -> None:
    recording = record(function, *copy.deepcopy(args))
    assert not recording["aborted"]
    assert event_lines(recording) == expected
    if result:
        assert node_text(recording, recording["result"]) == result
    assert recording["exception"] is None
    _, _, _, _, seen, _ = recording["nodes"][recording["result"]]
    assert seen is recording["value"]


def test_guard_and_mock_nodes() -> None:
    # The example of paper MagPy, figures 9 and 11: z is not read, x and x[0] change in place.
    def function(x: Any, y: Any, z: Any) -> Any:
        x[0] += y
        x.append(x[0] * y)
        return tuple(x)

    recording = record(function, [np.ones((3, 3))], 2.0, 3.0)
    guards = [node_text(recording, node) for node in recording["guard_nodes"]]
    mocks = [node_text(recording, node) for node in recording["mock_nodes"]]
    assert sorted(guards) == ["arg0", "arg1", "e0", "tuple"]
    assert sorted(mocks) == ["arg0", "e0", "e5", "e7"]
    assert event_lines(recording)[4:] == [
        "e4 subscript (arg0 =0)",
        "e5 binary * (e4 arg1)",
        "e6 call (e3 e5)",
        "e7 call (tuple arg0)",
    ]
