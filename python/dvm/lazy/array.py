"""What lazy arrays do besides arithmetic, which is the native core's (cpp/bindings/lazy)."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.lazy import shapes
from dvm.lazy.door import Array, unwrapped, value


def read_only(array: Array, reason: str) -> np.ndarray[Any, Any]:
    """Return a view of the value for others, who must not write to it."""
    view = value(array, reason).view()
    view.flags.writeable = False
    return view


class Methods:
    """Attached to the native class, so that operators need no look-up in Python."""

    # So that operators of NumPy's arrays leave the operation to this class.
    __array_ufunc__ = None

    def __array_namespace__(self: Any, *, api_version: str | None = None) -> ModuleType:
        import dvm.lazy

        if api_version not in (None, *dvm.lazy.API_VERSIONS):
            raise ValueError(f"dvm.lazy is of version 2024.12 of the standard, not {api_version}")
        return dvm.lazy

    def __setitem__(self: Any, key: Any, item: Any) -> None:
        key, item = unwrapped(key, "an index"), unwrapped(item, "an assignment")
        value(self, "an assignment")
        # What others read, results that are pending among them, stays as it was.
        is_own = _dvm.lazy_is_sole_owner(self)
        written = value(self, "an assignment")
        if not is_own:
            written = written.copy()
        written[key] = item
        if not is_own:
            _dvm.lazy_become(self, written)

    def __iter__(self: Any) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __contains__(self: Any, item: Any) -> bool:
        return unwrapped(item, "in") in value(self, "in")

    def __complex__(self: Any) -> complex:
        return complex(value(self, "complex()"))

    def __repr__(self: Any) -> str:
        return "Array" + repr(value(self, "print"))[len("array") :]

    def __str__(self: Any) -> str:
        return str(value(self, "print"))

    def __format__(self: Any, spec: str) -> str:
        held = value(self, "print")
        return format(held.item() if held.ndim == 0 else held, spec)

    def __array__(self: Any, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        held = read_only(self, "NumPy")
        if copy or (dtype is not None and np.dtype(dtype) != held.dtype):
            if copy is False:
                raise ValueError("another dtype takes a copy")
            return np.array(held, dtype=dtype)
        return held

    def __dlpack__(
        self: Any,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        held = read_only(self, "DLPack")
        if copy is None and (max_version is None or max_version < (1, 0)):
            # Older consumers cannot be told that they must not write.
            held = held.copy()
        return held.__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self: Any) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self: Any) -> Any:
        from dvm.lazy import asarray

        return asarray, (value(self, "pickle").copy(),)

    @property
    def device(self: Any) -> str:
        """Where it is: "cpu"."""
        return "cpu"

    def to_device(self: Any, device: str, /, *, stream: Any = None) -> Any:
        """Return the array: there is one device, "cpu"."""
        if device != "cpu" or stream is not None:
            raise ValueError('the only device is "cpu", and it has no streams')
        return self

    @property
    def T(self: Any) -> Any:  # noqa: N802
        """The transpose of a matrix."""
        if self.ndim != 2:
            raise ValueError("T is of matrices; see permute_dims and matrix_transpose")
        return shapes.permute_dims(self, (1, 0))

    @property
    def mT(self: Any) -> Any:  # noqa: N802
        """The transposes of the matrices in the last two axes."""
        return shapes.matrix_transpose(self)


def attach() -> None:
    """Give the native class its methods."""
    for name, member in vars(Methods).items():
        if name not in ("__module__", "__dict__", "__weakref__", "__doc__"):
            setattr(Array, name, member)
    Array.__astype__ = shapes.astype  # type: ignore[attr-defined]
    Array.__doc__ = "An array whose value is computed when it is needed."
