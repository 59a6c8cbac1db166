"""Tensors of any library: storage, order in memory, views, writes, indexing."""
