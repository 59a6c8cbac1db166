"""What a size of a tensor is in the lowerings of torch's ops."""

from dvm import _dvm

#: a number where it is constant
Size = _dvm.Dim | int

__all__ = ["Size"]
