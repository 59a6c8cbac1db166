"""Operators against their peers and the machine's limits: `python -m benchmarks.ops`."""
