"""The path under construction: its steps, its Graph, its end."""
