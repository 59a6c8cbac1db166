"""`dataclasses.fields`: of a class, what its decorator has written down.

Which fields a class has is guarded; what a field says of itself is set once, when it is made.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

from dvm import reasons
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import SETTLED, attributes_of, means
from dvm.magpy_capture.values import Abstract, Instance, Literal, Sequence, resolve
from dvm.magpy_capture.values.kinds import MISSING as LACKING
from dvm.magpy_capture.values.kinds import class_attribute, is_constant, own_attribute

#: what the recorder does not enter
LEAVES = (dataclasses.fields,)
FIELDS = "__dataclass_fields__"
SETTLED.add(dataclasses.Field)


@dataclass(eq=False)
class FieldValue:
    """A field of a dataclass."""

    field: dataclasses.Field[Any]


class DataClasses(PythonPart):
    """Which fields an object has."""

    needs = "instances program"

    @means(dataclasses.fields)
    def fields(self, class_or_instance: Abstract) -> Sequence:
        value = resolve(class_or_instance)
        if isinstance(value, Instance):
            cls = value.cls
            if FIELDS in value.attributes or own_attribute(value.object, FIELDS) is not LACKING:
                raise refuse(reasons.ATTRIBUTE_OF, FIELDS, describe(value))
            if value.register >= 0:
                self.program.guard("guard_lacks", value.register, FIELDS)
        elif isinstance(value, Literal) and isinstance(value.object, type):
            cls = value.object
            self.instances.guard_look_up(cls, FIELDS)
        else:
            raise refuse(reasons.ATTRIBUTE_OF, FIELDS, describe(value))
        found = class_attribute(cls, FIELDS)
        self.instances.guard_class(cls, FIELDS, found)
        kept = self.program.constant(found)
        self.program.guard("guard_keys", kept, tuple(found))
        return Sequence([FieldValue(each) for each in dataclasses.fields(cls)])

    @attributes_of(FieldValue)
    def attribute(self, base: FieldValue, name: str, _seen: Any) -> Abstract:
        known = name in ("name", "default", "init", "kw_only", "type", "repr")
        held = getattr(base.field, name) if known else None
        is_plain = held is dataclasses.MISSING or isinstance(held, type) or is_constant(held)
        if not known or not is_plain:
            raise refuse(reasons.ATTRIBUTE_OF, name, "a field of a dataclass")
        return Literal(held)


__all__ = ["LEAVES", "DataClasses"]
