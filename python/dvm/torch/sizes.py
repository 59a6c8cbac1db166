"""What a size of a tensor is in the lowerings of torch's ops."""

from dvm.building.builder import Size

__all__ = ["Size"]
