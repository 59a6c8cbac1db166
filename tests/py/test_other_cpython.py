"""What `dvm.compile` says where functions cannot be captured, and that all else works there."""

import numpy as np
import pytest

import dvm


@pytest.fixture(autouse=True)
def _without_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever this runs: what is asked is the same."""
    monkeypatch.setattr(dvm._dvm, "can_capture", False)


def test_a_function_is_refused_with_what_works_instead() -> None:
    with pytest.raises(dvm.CaptureError, match=r"on CPython 3\.11 and 3\.13, not on 3") as caught:
        dvm.compile(lambda x: x + 1)
    assert caught.value.code == "DVM-C004"
    for alternative in ("dvm.asarray", "dvm.CompiledGraph", "dvm.onnx", "torch.compile"):
        assert alternative in caught.value.hint


def test_what_is_no_function_is_refused_as_everywhere() -> None:
    with pytest.raises(TypeError, match="needs a Python function"):
        dvm.compile(3)
    with pytest.raises(dvm.UnsupportedError, match="there is no target"):
        dvm.compile(lambda x: x, target="nowhere")


def test_lazy_arrays_compute() -> None:
    x = dvm.asarray(np.arange(4.0))
    assert float(dvm.lazy.sum(x * x)) == 14.0


def test_modules_go_through_torch_compile() -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(3, 2)
    x = torch.ones(4, 3)
    torch.testing.assert_close(dvm.compile(model)(x), model(x))
