"""Every function of torch that means something, beside eager torch: each dtype, layout and size.

Strides are compared, too, those of axes of one element and of tensors without elements included.
"""

from __future__ import annotations

import itertools
import random
import re
from typing import Any

import pytest
import torch

import dvm
from torch_native.observing import WRITE_THEIR_RESULT, observe
from torch_native.operands import DTYPES, LAYOUTS, NAMES, operand
from torch_native.samples import expressions, rows
from whole import WHOLE, some

#: cases of each row of the table; 0: every one
CASES = 0 if WHOLE else 1
ROWS = rows()
#: sizes of `x`; the first ones are those that the capture sees
SIZES = ((2, 5), (2, 5), (3, 5), (1, 5), (4, 1), (0, 5), (1, 1), (7, 3), (2, 5))
#: the same, where the capture sees axes of one element and of none
SINGLE_FIRST = ((1, 5), (1, 5), (0, 5), (4, 1), (2, 5), (5, 0), (1, 1), (0, 1), (7, 3), (1, 5))


def raises(name: str) -> bool:
    try:
        getattr(torch._C, name, bool)()
    except RuntimeError:
        return True
    return False


#: what no sample compiles: builds for a GPU have rows that raise where there is none
REFUSED = {
    f"torch._C.{name}"
    for name in ("_cuda_isCurrentStreamCapturing", "_xpu_isCurrentStreamCapturing")
    if raises(name)
}


def identifier(row: tuple[str, Any, bool]) -> str:
    name, function, is_method = row
    return f"Tensor.{name}" if is_method else f"{getattr(function, '__module__', '')}.{name}"


def program(text: str, function: Any) -> tuple[Any, list[str]]:
    """A function that computes the expression, and the names of its arguments."""
    names = [name for name in NAMES if re.search(rf"\b{name}\b", text)] or ["x"]
    made: dict[str, Any] = {"torch": torch, "f": function}
    exec(f"def sample({', '.join(names)}):\n    return {text}", made)
    return made["sample"], names


def differs(
    text: str, function: Any, dtype: torch.dtype, layout: Any, sizes: Any = SIZES
) -> tuple[str, int, int]:
    """What is different in some call, and how many calls were compiled and how many not."""
    sample, names = program(text, function)
    compiled = dvm.compile(sample)
    # what raises in eager torch is left out, when it is first met: nothing of it is recorded
    with torch.no_grad():
        for call, size in enumerate(sizes):
            given = [[operand(name, size, dtype, layout, call) for name in names] for _ in range(2)]
            torch.manual_seed(call)
            wanted = observe(sample, given[0])
            torch.manual_seed(call)
            if wanted.error and not compiled.stats.captures:
                continue
            counts = getattr(function, "__name__", "") not in WRITE_THEIR_RESULT
            found = observe(compiled, given[1]).difference(wanted, counts=counts)
            if found:
                at = f"{text} of {dtype}, {layout.__name__}, {size}, call {call}"
                return f"{at}: {found}", 0, 0
    return "", compiled.stats.hits, compiled.stats.fallbacks


def cases(row: tuple[str, Any, bool]) -> list[Any]:
    texts = expressions(row[0], row[2])
    found = [*itertools.product(texts, DTYPES, LAYOUTS, (SIZES, SINGLE_FIRST))]
    if not CASES:
        return found
    return random.Random(identifier(row)).sample(found, min(CASES, len(found)))


@pytest.mark.parametrize("row", ROWS, ids=identifier)
def test_a_function_gives_what_eager_torch_gives(row: tuple[str, Any, bool]) -> None:
    assert expressions(row[0], row[2]), f"no sample of {identifier(row)}"
    for text, dtype, layout, sizes in cases(row):
        found, _, _ = differs(text, row[1], dtype, layout, sizes)
        assert not found, found


# By the same code as without it, and casts that few rows have.
@pytest.mark.parametrize("row", some(ROWS, 300), ids=identifier)
def test_a_function_gives_the_same_under_autocast(row: tuple[str, Any, bool]) -> None:
    texts = expressions(row[0], row[2])
    chosen = random.Random(identifier(row)).sample(texts, 1) if CASES else texts
    for text in chosen:
        with torch.autocast("cpu", torch.bfloat16):
            found, _, _ = differs(text, row[1], torch.float32, LAYOUTS[0])
        assert not found, found


def test_all_functions_are_compiled_in_some_form() -> None:
    """Of contiguous tensors of float32 or int64."""
    never = set()
    with dvm.stance("force_capture"):
        for row in ROWS:
            texts = expressions(row[0], row[2])
            if not any(
                differs(text, row[1], dtype, LAYOUTS[0], SIZES[:2])[1]
                for text in texts
                for dtype in (torch.float32, torch.int64)
            ):
                never.add(identifier(row))
    assert never == REFUSED & {identifier(row) for row in ROWS}


def test_an_index_without_axes_is_an_axis_of_a_view_beside_others_too() -> None:
    """Where it is no place: `x[one, :, many]` is `x[1][:, many]`, and lies as that does."""
    x, one, many = torch.arange(24.0).reshape(2, 3, 4), torch.tensor(1), torch.tensor([0, 1, 2])
    compiled = dvm.compile(lambda x, one, many: x[one, :, many] * 2)
    for _ in range(3):
        assert torch.equal(compiled(x, one, many), x[one, :, many] * 2)
    assert compiled.stats.hits == 2


def test_a_number_that_calls_differ_in_is_no_path_for_each() -> None:
    """Of what torch composes for the numbers that it is given."""
    x, y = torch.arange(6.0), torch.ones(6)
    compiled = dvm.compile(lambda x, y, share: torch.lerp(x, y, share) + 1)
    with torch.no_grad(), dvm.stance("force_capture"):
        for share in (0.1, 0.2, 0.7, 0.9):
            assert torch.allclose(compiled(x, y, share), torch.lerp(x, y, share) + 1)
    assert compiled.stats.captures == 1
    assert compiled.stats.hits == 3
