"""Loops that stay loops: one body for all turns, however many there are."""
