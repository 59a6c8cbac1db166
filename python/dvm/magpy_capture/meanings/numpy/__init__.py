"""NumPy's functions, and its arrays that the Graph cannot hold."""
