"""dvm: a real-time tensor compiler for NumPy and PyTorch programs."""

from dvm._version import __version__

__all__ = ["__version__"]
