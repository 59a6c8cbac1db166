"""What kinds of functions NumPy has: with effects, without, and such that write."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

#: NumPy functions with effects, state or results that depend on more than their arguments
IMPURE: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in (
        "save savez savez_compressed load loadtxt savetxt genfromtxt fromfile fromregex seterr "
        "seterrcall setbufsize set_printoptions memmap copyto put putmask place "
        "info show_config show_runtime bmat "
        "fill_diagonal put_along_axis empty empty_like nditer nested_iters vectorize "
        "frompyfunc apply_along_axis apply_over_axes fromfunction piecewise "
        "geterr geterrcall getbufsize get_printoptions may_share_memory shares_memory printoptions"
    ).split()
)

#: functions that write into their first argument, and its name
WRITES: dict[Any, str] = {
    np.copyto: "dst",
    np.put: "a",
    np.place: "arr",
    np.putmask: "a",
    np.fill_diagonal: "a",
    np.put_along_axis: "arr",
}
#: opaque functions that always make new memory
FRESH: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in (
        "matmul dot vdot inner outer kron sort argsort searchsorted nonzero flatnonzero argwhere "
        "bincount interp convolve correlate histogram unique lexsort"
    ).split()
)

#: array methods that write into the array and give None
WRITING_METHODS: frozenset[str] = frozenset({"sort", "partition", "put", "fill", "__setitem__"})

#: array methods that change nothing, called as they are where no table has them
PURE_METHODS: frozenset[str] = frozenset(
    "argsort argpartition choose compress conj conjugate diagonal dot nonzero ptp repeat "
    "searchsorted take tobytes tolist trace round sum prod max min mean var std any all argmax "
    "argmin cumsum cumprod clip item astype copy flatten ravel reshape transpose swapaxes squeeze "
    "view byteswap __copy__ __getitem__ __len__ __contains__".split()
)
#: functions whose result nobody knows, which may be called all the same
OPEN_ENDED = (np.empty, np.empty_like)


def is_numpy_function(function: Any) -> bool:
    """A public function of NumPy that computes its result from its arguments alone."""
    if function in IMPURE or isinstance(function, type):
        return False
    module = getattr(function, "__module__", None) or ""
    if isinstance(function, np.ufunc):
        return True
    return module.split(".")[0] == "numpy" and not module.startswith("numpy.random")


#: NumPy's own, in Python, that are followed: called as they are where that does not come to an end.
#: By id, for a callee of a recording need not be hashable.
WHOLE: dict[int, Any] = {
    id(value): value
    for module in (np, np.linalg, np.fft, np.char, np.strings)
    for value in vars(module).values()
    if isinstance(value, (types.FunctionType, type(np.sum))) and is_numpy_function(value)
}
