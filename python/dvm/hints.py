"""What to do about a reason for a fallback: the part of `explain` that is advice."""

from __future__ import annotations

#: beginning of a reason (dvm.magpy_capture, cpp/capture) -> advice; the first match counts
HINTS = {
    "a branch on": "an outcome that depends on array values or numbers cannot steer a compiled "
    "path: use np.where, or branch outside of the compiled function",
    "a call of": "move the call out of the compiled function, or replace it by operations listed "
    "in docs/ops.md",
    "opcode": "loops, containers and assignments to elements or attributes are not compiled: "
    "compile the straight part as a function of its own",
    "in-place operator": "write x = x + y instead of x += y",
    "ufunc": "docs/ops.md lists the operations that compile",
    "dtype": "docs/ops.md lists the dtypes; convert with x.astype(...) before the call",
    "returning a view": "return a computed array, or a copy made outside of the function",
    "indexing": "basic slices with step 1, None and Ellipsis compile",
    "a slice with a step": "basic slices with step 1, None and Ellipsis compile",
    "an argument of type": "pass arrays, Python numbers, bools, strings or None",
    "attribute": "read the attribute outside and pass its value as an argument",
    "a result that is not in C order": "make the arguments C-contiguous: np.ascontiguousarray(x)",
    "an exception was raised": "the function raises and catches within itself: move that out",
    "*args or **kwargs": "give the compiled function a fixed list of parameters",
    "it is a generator": "compile the function that computes one step",
    "capture needs CPython": "use CPython 3.11 for compiled execution; results are the same",
    "Python arithmetic": "only + - * on sizes is compiled: compute the number outside and pass it",
}


def hint_for(reason: str) -> str:
    """Return the advice for a reason, or an empty string."""
    return next((hint for start, hint in HINTS.items() if reason.startswith(start)), "")
