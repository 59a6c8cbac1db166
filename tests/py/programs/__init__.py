"""Sixty NumPy programs as people write them, each compared with itself compiled."""
