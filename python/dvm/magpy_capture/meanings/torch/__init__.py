"""PyTorch as a library of arrays. Nothing here imports it but what lies in `operations`."""
