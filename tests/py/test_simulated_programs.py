"""Generated programs on simulated AI Cores: all that a profile answers, and the cpu's values."""

import json
import random

import numpy as np
import pytest

import dvm
from whole import how_many

TARGETS = ["ascend910b1", "ascend910b4", "ascend910_9391"]
UNARY = {
    "tanh": np.tanh,
    "exp": lambda x: np.exp(-np.abs(x)),
    "root": lambda x: np.sqrt(np.abs(x)),
    "half": lambda x: x * 0.5,
    "choice": lambda x: np.where(x > 0, x, x * 0.1),
    "float": lambda x: x.astype("f4"),
    "turned": lambda x: np.ascontiguousarray(x.T).T,
    "norm": lambda x: x - x.mean(axis=-1, keepdims=True),
    "shares": lambda x: x / (np.abs(x).sum(axis=0) + 1),
    "highest": lambda x: x - x.max(axis=-1, keepdims=True),
    "running": lambda x: np.cumsum(x, axis=1) * 0.01,
    "shifted": lambda x: np.concatenate([x[:, 1:], x[:, :1]], axis=1),
    "sorted": lambda x: np.sort(x, axis=1),
}
BINARY = {"sum": np.add, "difference": np.subtract, "product": np.multiply, "least": np.minimum}


def program(seed):
    """A function of two matrices and one that both are multiplied by, and its arguments."""
    rng = random.Random(seed)
    dtype = rng.choice(["f4", "f4", "f4", "f2"])
    rows, inner, columns = (rng.choice([1, 2, 15, 16, 17, 33, 64, 130]) for _ in range(3))
    draw = np.random.default_rng(seed)
    x, y = (draw.uniform(-1, 1, (rows, inner)).astype(dtype) for _ in range(2))
    w = draw.uniform(-1, 1, (inner, columns)).astype(dtype)
    steps = [rng.choice([*UNARY, *BINARY]) for _ in range(rng.randint(1, 6))]
    product_at = rng.choice([None, *range(len(steps))])

    def f(x, y, w):
        values = [x, y]
        for k, step in enumerate(steps):
            if k == product_at:
                values = [value @ w for value in values[-2:]]
            if step in UNARY:
                values.append(UNARY[step](values[-1]))
            else:
                values.append(BINARY[step](values[-1], values[-2]))
        return values[-1]

    return f, (x, y, w), (steps, product_at)


@pytest.mark.parametrize("seed", range(how_many(60, 1000)))
def test_every_question_has_an_answer(seed, tmp_path):
    f, arguments, says = program(seed)
    target = TARGETS[seed % len(TARGETS)]
    profile = dvm.profile(f, target=target)(*arguments)
    expected = f(*arguments)
    assert profile.value.dtype == expected.dtype, says
    bound = 2e-2 if arguments[0].dtype == np.float16 else 2e-3
    np.testing.assert_allclose(profile.value, expected, atol=bound, rtol=bound, err_msg=str(says))
    again = dvm.profile(f, target=target)(*arguments)
    found = json.loads(json.dumps(profile.to_dict()))
    assert json.loads(json.dumps(again.to_dict())) == found, says
    assert str(profile)
    assert profile.page().startswith("<!doctype html>")
    profile.export_chrome_trace(tmp_path / "trace.json")
    assert json.loads((tmp_path / "trace.json").read_text())
    if not profile.kernels:
        return
    assert sum(line.share for line in profile.lines()) <= 1 + 1e-9
    for row in profile.pipe_utilization():
        ratios = [value for key, value in row.items() if key.endswith("_ratio")]
        assert all(0 <= ratio <= 1 for ratio in ratios), says
    regions = [kernel for kernel in profile.kernels if kernel.region]
    assert profile.what_if(profile_overrides={"hbm_bytes": 1e9}).ratio <= 1 + 1e-9, says
    assert profile.what_if(target="ascend910b2").after.cycles > 0
    for edge in profile.refused():
        assert edge.answer.after.cycles > 0
    if not regions:
        return
    assert profile.what_if(cores=1).after.cycles > 0
    tiles = profile.tiles()
    assert tiles.chosen in tiles.cycles, says
    assert tiles.cycles[tiles.best] == min(tiles.cycles.values())
