"""Fifty programs as people write them, of one to twenty milliseconds each, by kind."""
