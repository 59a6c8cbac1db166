"""Whether a program is ever slower compiled than plain: `python -m benchmarks.no_slower`."""
