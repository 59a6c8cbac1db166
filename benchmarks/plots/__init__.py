"""The benchmarks that the documentation shows: measured, drawn and told."""
