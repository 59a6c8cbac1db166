"""Files with anything in them: a model, or an error of dvm's that says what to do."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

import dvm
import dvm.onnx
from dvm.onnx import atc
from onnx_door.small import MODELS
from whole import WHOLE

COUNT = 20_000 if WHOLE else 1_000


def damaged(content: bytes, draw: random.Random) -> bytes:
    """The content with a few bits, bytes or stretches changed, left out or added."""
    made = bytearray(content)
    how = draw.choice(["bit", "bit", "byte", "byte", "less", "more"])
    for _ in range(draw.choice([1, 1, 1, 2, 4])):
        at = draw.randrange(len(made))
        if how == "bit":
            made[at] ^= 1 << draw.randrange(8)
        elif how == "byte":
            made[at] = draw.choice([0, 1, 2, 7, 127, 128, 255, draw.randrange(256)])
        elif how == "less":
            del made[at : at + draw.randrange(1, 6)]
        else:
            made[at:at] = draw.randbytes(draw.randrange(1, 5))
    return bytes(made)


def error_of(path: Path) -> dvm.Error | None:
    """Load a model and save it; the error of dvm's, where that cannot be."""
    try:
        loaded = dvm.onnx.load(path)
        assert repr(loaded)
        assert loaded.outputs
        loaded.save(path.with_suffix(".dvm"))
    except dvm.Error as error:
        return error
    return None


@pytest.mark.parametrize("name", MODELS)
def test_a_damaged_model_is_a_model_or_an_error(name: str, tmp_path: Path) -> None:
    draw = random.Random(name)
    content = MODELS[name].SerializeToString()
    path, refused = tmp_path / "model.onnx", 0
    for _ in range(COUNT // len(MODELS)):
        path.write_bytes(damaged(content, draw))
        error = error_of(path)
        if error is not None:
            refused += 1
            assert not isinstance(error, dvm.InternalError)
            assert str(error).startswith(error.code)
            assert str(error).isprintable()
            assert error.hint in str(error)
    assert refused


def test_the_command_says_so_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draw = random.Random(0)
    path = tmp_path / "model.onnx"
    for name, proto in MODELS.items():
        for _ in range(COUNT // 100):
            path.write_bytes(damaged(proto.SerializeToString(), draw))
            status = atc.main([str(path), "--mode", "check"])
            said = capsys.readouterr().err
            assert (status, said.count("\n")) in ((0, 0), (2, 1)), f"{name}: {said}"
