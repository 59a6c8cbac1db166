"""What Dynamo, once it is there, adds to the making of modules."""

from __future__ import annotations

import types

from torch._dynamo.mutation_guard import GenerationTracker
from torch._dynamo.utils import ExactWeakKeyDictionary

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal

TAG = vars(GenerationTracker)["tag"].__func__


def forgets() -> list[types.FunctionType]:
    """What its dictionaries call when a key dies: functions of the code that does it."""
    codes = ExactWeakKeyDictionary.__setitem__.__code__.co_consts
    inner = [each for each in codes if isinstance(each, types.CodeType)]
    cells = [tuple(types.CellType() for _ in code.co_freevars) for code in inner]
    return [
        types.FunctionType(code, {}, closure=held) for code, held in zip(inner, cells, strict=True)
    ]


#: what the recorder does not enter; and nobody sees that it is told when a module dies
LEAVES = (TAG, *forgets())


@means(TAG)
def noted(_: TorchPart, *_given: Abstract) -> Literal:
    """It keeps in mind which modules were made while it compiled: none that a path makes was."""
    return Literal(None)
