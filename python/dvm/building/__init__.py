"""How graphs are built from Python, whatever door they come through."""
