"""Simulated cores: the paper's operator suites, and the tiler's choices beside the best ones."""
