"""What PyTorch's functions mean. Imported once it is there (meanings/torch/arrival.py)."""
