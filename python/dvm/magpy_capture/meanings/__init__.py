"""What functions mean: Python's own, and those of the libraries of arrays."""
