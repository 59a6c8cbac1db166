"""A tracer in plain Python that records what the native one does, for comparison."""
