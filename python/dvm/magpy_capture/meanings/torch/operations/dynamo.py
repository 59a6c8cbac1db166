"""What tells Dynamo of a tensor: nothing that the path goes by, and done again by each call."""

from __future__ import annotations

from typing import Any

from torch._dynamo import decorators

from dvm.magpy_capture.meanings.torch.layer import TorchPart
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Literal


def marking(function: Any) -> None:
    """Attributes of a tensor, which has them at the end of the call."""

    @means(function)
    def marked(lower: TorchPart, *given: Abstract, **named: Abstract) -> Literal:
        lower.ledger.call(function, [*given, *named.values()], tuple(named))
        return Literal(None)


marking(decorators.mark_dynamic)
marking(decorators.mark_static)
marking(decorators.mark_static_address)
marking(decorators.maybe_mark_dynamic)
