"""Without torch, which exports the models, those tests are left out."""

from importlib.util import find_spec

if find_spec("torch") is None:
    collect_ignore = ["test_models.py"]
