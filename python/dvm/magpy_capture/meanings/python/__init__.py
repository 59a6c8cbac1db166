"""What Python's own objects and functions do, to abstract values."""
