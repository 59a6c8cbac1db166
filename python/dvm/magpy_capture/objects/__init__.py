"""Objects of the program: its own and the caller's."""
