"""Loops: programs whose trip counts change from call to call (docs/numpy-programs.md)."""
