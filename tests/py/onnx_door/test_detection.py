"""The best boxes and the first elements: what the runtime's own functions give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dvm
import dvm.onnx
from onnx_door.writing import model

F = np.float32
SUPPRESSION = model(
    "float[n, k, 4] boxes, float[n, c, k] scores, int64 most, float overlap, float least",
    "int64[m, 3] y", "y = NonMaxSuppression(boxes, scores, most, overlap, least)",
)  # fmt: skip


def kept(
    boxes: Any, scores: Any, most: int, overlap: float, least: float | None, is_centred: bool
) -> Any:
    """What is left, one after the other, with each of the others looked at."""
    found = []
    for n, lines in enumerate(scores):
        x = boxes[n]
        if is_centred:
            x = np.concatenate([x[:, :2] - x[:, 2:] / 2, x[:, :2] + x[:, 2:] / 2], 1)
        low, high = np.minimum(x[:, :2], x[:, 2:]), np.maximum(x[:, :2], x[:, 2:])
        area = (high - low).prod(1)
        for k, line in enumerate(lines):
            chosen: list[int] = []
            for i in np.argsort(-line, kind="stable"):
                if len(chosen) >= most or (least is not None and not line[i] > least):
                    break
                shared = np.maximum(
                    np.minimum(high[chosen], high[i]) - np.maximum(low[chosen], low[i]), 0
                ).prod(1)
                both = area[chosen] + area[i] - shared
                share = np.divide(shared, both, out=np.zeros_like(shared), where=both > 0)
                if (share <= F(overlap)).all():
                    chosen.append(int(i))
            found += [(n, k, i) for i in chosen]
    return np.array(found, np.int64).reshape(-1, 3)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 2), st.integers(1, 3), st.integers(1, 40), st.integers(0, 9),
    st.floats(0, 1, width=32), st.sampled_from([-1.0, 0.0, 0.5]), st.integers(1, 9),
    st.integers(0, 2**16),
)  # fmt: skip
def test_boxes_are_those_that_are_left(
    images: int, classes: int, count: int, most: int, overlap: float, least: float, places: int,
    seed: int,
) -> None:  # fmt: skip
    rng = np.random.default_rng(seed)
    # Few places and few scores: boxes that are equal, empty or side by side, and ties.
    boxes = rng.integers(0, places + 1, (images, count, 4)).astype(F)
    scores = rng.integers(-3, 4, (images, classes, count)).astype(F) / 4
    limits = (np.array(most), np.array(overlap, F), np.array(least, F))
    loaded = _loaded()
    (got,) = loaded(boxes, scores, *limits)
    assert np.array_equal(got, kept(boxes, scores, most, overlap, least, False))
    # They may lie in any way in memory.
    turned = np.ascontiguousarray(scores.transpose(2, 0, 1)).transpose(1, 2, 0)
    assert np.array_equal(loaded(boxes, turned, *limits)[0], got)


@pytest.fixture(scope="module", autouse=True)
def _quiet() -> None:
    onnxruntime.set_default_logger_severity(3)


_known: list[dvm.onnx.Model] = []


def _loaded() -> dvm.onnx.Model:
    if not _known:
        _known.append(dvm.onnx.load(SUPPRESSION))
    return _known[0]


@pytest.mark.parametrize("centred", [0, 1])
@pytest.mark.parametrize("limits", ["", ", most", ", most, overlap", ", most, overlap, least"])
def test_limits_may_be_left_out(centred: int, limits: str, tmp_path: Path) -> None:
    weights = {"most": np.array([3]), "overlap": np.array([0.25], F), "least": np.array([0.1], F)}
    written = model(
        "float[n, k, 4] boxes, float[n, c, k] scores", "int64[m, 3] y",
        f"y = NonMaxSuppression<center_point_box = {centred}>(boxes, scores{limits})",
        {name: array for name, array in weights.items() if name in limits},
    )  # fmt: skip
    loaded = dvm.onnx.load(written)
    assert loaded.host_calls == {}
    session = onnxruntime.InferenceSession(written.SerializeToString())
    loaded.save(tmp_path / "boxes.dvm")
    saved = dvm.load(tmp_path / "boxes.dvm")
    rng = np.random.default_rng(0)
    for n, c, k in ((1, 1, 1), (2, 3, 50), (3, 1, 7)):
        boxes = rng.random((n, k, 4), F)
        scores = rng.random((n, c, k), F)
        (got,) = loaded(boxes, scores)
        (wanted,) = session.run(None, {"boxes": boxes, "scores": scores})
        assert np.array_equal(got, wanted)
        assert np.array_equal(saved(boxes, scores)[0], got)


def test_scores_that_are_no_numbers_come_last() -> None:
    boxes = np.array([[[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]], F)
    scores = np.array([[[np.nan, -np.inf, 0]]], F)
    given = (boxes, scores, np.array(3), np.array(0.5, F))
    written = model(
        "float[n, k, 4] boxes, float[n, c, k] scores, int64 most, float overlap", "int64[m, 3] y",
        "y = NonMaxSuppression(boxes, scores, most, overlap)",
    )  # fmt: skip
    assert dvm.onnx.load(written)(*given)[0][:, 2].tolist() == [2, 1, 0]


def test_boxes_of_other_images_are_refused() -> None:
    boxes, scores = np.zeros((2, 5, 4), F), np.zeros((2, 1, 5), F)
    limits = np.array(1), np.array(0.5, F), np.array(0, F)
    for wrong in (boxes[:1], boxes[:, :4], boxes[..., :3]):
        with pytest.raises((dvm.ShapeError, dvm.UnsupportedError)):
            _loaded()(wrong, scores, *limits)


TYPES = {
    "float": F, "double": np.float64, "float16": np.float16, "int32": np.int32,
    "int64": np.int64, "uint8": np.uint8,
}  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(sorted(TYPES)), st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.integers(0, 2), st.integers(0, 5), st.booleans(), st.integers(0, 2**16),
)  # fmt: skip
def test_the_first_elements_are_those_of_a_stable_sort(
    kind: str, shape: list[int], axis: int, count: int, largest: bool, seed: int
) -> None:
    axis %= len(shape)
    count = min(count, shape[axis])
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, shape).astype(TYPES[kind])  # with ties
    if kind in ("float", "double", "float16"):
        x[rng.random(shape) < 0.2] = np.nan
    sizes = ", ".join("abc"[: len(shape)])
    body = f"v, i = TopK<axis = {axis}, largest = {int(largest)}>(x, k)"
    loaded = dvm.onnx.load(
        model(f"{kind}[{sizes}] x", f"{kind}[{sizes}] v, int64[{sizes}] i", body,
              {"k": np.array([count])})
    )  # fmt: skip
    assert loaded.host_calls == {}
    order = np.argsort(x, axis, kind="stable")
    if largest:
        order = np.flip(x.shape[axis] - 1 - np.argsort(np.flip(x, axis), axis, kind="stable"), axis)
    places = np.take(order, range(count), axis)
    values, got = loaded(x)
    assert np.array_equal(got, places)
    assert values.dtype == x.dtype
    assert np.array_equal(values, np.take_along_axis(x, places, axis), equal_nan=kind != "uint8")


def test_more_elements_than_there_are_are_refused() -> None:
    loaded = dvm.onnx.load(
        model("float[n] x", "float[m] v, int64[m] i", "v, i = TopK(x, k)", {"k": np.array([4])})
    )
    assert loaded(np.arange(4, dtype=F))[1].tolist() == [3, 2, 1, 0]
    with pytest.raises(dvm.HostCallError, match="4 among 3 elements"):
        loaded(np.arange(3, dtype=F))
