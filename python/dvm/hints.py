"""What to do about a reason for a fallback: the part of `explain` that is advice."""

from __future__ import annotations

LIST = "docs/ops.md lists the operations and dtypes that compile"
STRAIGHT = "compile the straight part of the computation as a function of its own"

#: beginning of a reason (dvm.magpy_capture, cpp/capture) -> advice; the first match counts
HINTS = {
    "a branch on": "an outcome that depends on array values or numbers cannot steer a compiled "
    "path: use np.where, or branch outside of the compiled function",
    "a call of": f"call it outside of the compiled function; {LIST}",
    "a loop": STRAIGHT,
    "a with statement": "put the with statement around the call",
    "a list": "return a tuple",
    "a dict": "return a tuple, and make the dict of it outside",
    "a function defined inside": "define the inner function at module level",
    "an exception left": "the function ends by an exception; only calls that return are compiled",
    "an exception was raised": "what raises here may not be called again to see; " + STRAIGHT,
    "an exception": "the exception would leave the function without its traceback; " + STRAIGHT,
    "an assignment to an element": "build the new array by np.where or arithmetic",
    "an assignment to": "return the new value instead",
    "an import": "import at module level",
    "an unsupported instruction": STRAIGHT,
    "string formatting": "format outside of the compiled function",
    "in-place operator": "write x = x + y instead of x += y",
    "ufunc": LIST,
    "operand": LIST,
    "array attribute": LIST,
    "dtype": "docs/ops.md lists the dtypes; convert with x.astype(...) before the call",
    "returning a view": "return a computed array, or make the view outside of the function",
    "indexing": "basic slices with step 1, None and Ellipsis compile",
    "a slice": "basic slices with step 1, None and Ellipsis compile",
    "an argument of type": "pass arrays, Python numbers, bools, strings or None",
    "attribute": "read the attribute outside and pass its value as an argument",
    "a result that is not in C order": "pass C-contiguous arguments: np.ascontiguousarray(x)",
    "*args or **kwargs": "give the compiled function a fixed list of parameters",
    "it is a generator": "compile the function that computes one step",
    "capture needs CPython": "use CPython 3.11 to compile; the results are the same",
    "Python arithmetic": "only + - * on sizes compile: compute the number outside and pass it",
}


def hint_for(reason: str) -> str:
    """Return the advice for a reason."""
    return next((hint for start, hint in HINTS.items() if reason.startswith(start)), STRAIGHT)
