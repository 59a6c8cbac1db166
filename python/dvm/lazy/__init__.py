"""Lazy arrays: the Python array API standard, computed when a value is needed.

    x = dvm.asarray(numbers)       # a lazy array
    xp = x.__array_namespace__()   # this module: xp.exp, xp.sum, xp.linalg.svd ...
    y = xp.exp(-x * x) + 1         # nothing is computed yet
    print(y)                       # now it is, in one kernel
    print(dvm.lazy.last_flush())   # what was computed, and why

What has an operation in the core waits in a buffer of the thread, and is fused with what comes
after it. Everything else is NumPy's, on the values.
"""

from dvm.lazy import (
    array,
    creation,
    dtypes,
    elementwise,
    linalg,
    reductions,
    searching,
    shapes,
)
from dvm.lazy.creation import *  # noqa: F403
from dvm.lazy.door import Array
from dvm.lazy.dtypes import *  # noqa: F403
from dvm.lazy.dtypes import __array_namespace_info__
from dvm.lazy.elementwise import *  # noqa: F403
from dvm.lazy.flushing import Flush, flush, last_flush
from dvm.lazy.linalg import matmul, matrix_transpose, tensordot, vecdot
from dvm.lazy.reductions import *  # noqa: F403
from dvm.lazy.searching import *  # noqa: F403
from dvm.lazy.shapes import *  # noqa: F403

__array_api_version__ = "2024.12"
API_VERSIONS = ("2021.12", "2022.12", "2023.12", "2024.12")

array.attach()

__all__ = [
    "Array",
    "Flush",
    "__array_api_version__",
    "__array_namespace_info__",
    "flush",
    "last_flush",
    "linalg",
    "matmul",
    "matrix_transpose",
    "tensordot",
    "vecdot",
]
for _part in (creation, dtypes, elementwise, reductions, searching, shapes):
    __all__ += _part.__all__
__all__ += ["fft"]  # noqa: F405 (found by __getattr__)


def __getattr__(name: str) -> object:
    # As NumPy's own, which `import numpy` does not bring in.
    if name == "fft":
        import dvm.lazy.fft

        return dvm.lazy.fft
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), "fft"]
