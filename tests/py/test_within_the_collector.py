"""Code that runs while the garbage collector takes a cycle apart that compiled functions are in."""

from __future__ import annotations

from collections.abc import Callable

LATE = """
import ctypes, gc
import numpy as np
import dvm

new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
pointer = ctypes.pythonapi.PyCapsule_GetPointer
pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_char_p]
seen, x = [], np.ones(3)

@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def late(capsule):
    function = ctypes.cast(pointer(capsule, None), ctypes.py_object).value
    seen.append(function(x, 5).tolist())

def straight(x, n):
    return x * n + 1

def loops(x, n):
    for i in range(n):
        x = x * 0.5 + i
    return x + 1

def make(f):
    compiled = dvm.compile(f)
    with dvm.stance("force_capture"):
        for n in (3, 4, 5, 6):
            compiled(x, n)
    assert compiled.stats.hits > 0
    compiled.holder = holder = []  # which is taken apart behind the function, for it is younger
    holder += [holder, compiled, new(id(compiled), None, ctypes.cast(late, ctypes.c_void_p))]
    return f(x, 5).tolist()

expected = [make(f) for f in (straight, loops) * 3]
gc.collect()
print(sorted(seen) == sorted(expected))  # which cycle is first, collections before decide
"""


def test_a_function_is_called_while_its_cycle_is_collected(
    run_python: Callable[[str], str],
) -> None:
    """By a destructor in C: those of Python have all run before anything is taken apart."""
    assert run_python(LATE) == "True\n"
