"""What a loop or a recursive function is handed: registers of the values that it begins with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvm import reasons
from dvm.magpy_capture.loops.histories import PLAIN, Given
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.objects.open_lists import is_open_list
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.values import (
    DictValue,
    Instance,
    ListValue,
    RangeValue,
    Sequence,
    Tensor,
    resolve,
)

if TYPE_CHECKING:
    from dvm.magpy_capture.values import Abstract


class HandedValues(LoopPart):
    """Registers for values of the path, as they are at this place of it."""

    needs = "arrays list_changes memory program written_beside"

    def register(self, name: str, value: Abstract, private: bool, given: list[Given]) -> int:
        """The register of a variable's value; of an array that the loop writes, of one to write.

        given: gets the arrays that are in a list.
        """
        if isinstance(value, Tensor):
            if private and not value.is_scalar:
                self.memory.may_write(value)
                if value.object is None:
                    raise refuse(reasons.LOOP_VARIABLE, name, describe(value))
                own = self.program.step("own", self.arrays.tensor_register(value))
                self.arrays.number_writes(value.storage, own, 0)
                return own
            return self.arrays.tensor_register(value)
        if is_open_list(value):
            return self.list_changes.register(value)
        if isinstance(value, ListValue) and (made := self.list_to_read(value, given)) >= 0:
            return made
        if isinstance(value, Sequence) and value.register < 0 and value.cls is not tuple:
            raise refuse(reasons.LOOP_VARIABLE, name, describe(value))
        if (register := self.written_beside.given(value)) >= 0:
            return register  # whatever is in it: where that was written, no turn looks
        if isinstance(value, Sequence) and value.counted >= 0:
            return value.counted
        if isinstance(value, (*PLAIN, Sequence, RangeValue)):
            return self.program.register_of(value)
        unchanged = getattr(value, "register", -1) >= 0 and not getattr(value, "changed", False)
        if isinstance(value, (DictValue, ListValue, Instance)) and unchanged:
            return int(value.register)
        raise refuse(reasons.LOOP_VARIABLE, name, describe(value))

    def list_to_read(self, value: ListValue, given: list[Given]) -> int:
        """A list of what the program's own one has in it, where that is known; or -1.

        It is only read: a list that the loop may hand on is refused where that is seen.
        """
        if value.register >= 0 or value.is_open or value.cls is not list:
            return -1
        parts = [resolve(part) for part in value.elements]
        if not all(isinstance(part, (*PLAIN, Tensor)) for part in parts):
            return -1
        registers = list(map(self.program.register_of, parts))
        for part, register in zip(parts, registers, strict=True):
            if isinstance(part, Tensor) and not part.is_scalar:
                given.append(Given(part, register, False))
        return self.program.step("list", registers)


__all__ = ["HandedValues"]
