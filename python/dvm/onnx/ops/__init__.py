"""Rows of the table of operators, by family."""
