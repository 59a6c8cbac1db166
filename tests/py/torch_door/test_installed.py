import pytest


def test_torch_is_installed():
    pytest.importorskip("torch", reason="the tests of dvm.torch need torch: pip install '.[torch]'")
