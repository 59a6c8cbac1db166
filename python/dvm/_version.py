"""The version; the packaging metadata and the CMake project read it from here."""

__version__ = "0.1.0"
