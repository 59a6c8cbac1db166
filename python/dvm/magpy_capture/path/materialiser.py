"""Who makes objects of the host of arrays of the path."""

from __future__ import annotations

from typing import Protocol

from dvm.magpy_capture.values import Tensor


class Materialiser(Protocol):
    """What a path asks of its arrays, where a callee is to get one."""

    def tensor_register(self, value: Tensor) -> int:
        """A host object with the present content, for callees that do not keep or change it."""

    def has_written_arrays(self) -> bool:
        """Whether the program has written into an array of the caller."""


__all__ = ["Materialiser"]
