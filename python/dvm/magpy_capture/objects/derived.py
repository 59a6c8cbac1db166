"""Classes of Python that store more than attributes: subclasses of containers, and namespaces.

An object of one is an Instance, and its `content` the value of the container that it is besides.
What the interpreter would do by a method that the class has of the container's own class is done
to the content; each such method is guarded, so a class that gets its own takes another path, on
which that is followed.
"""

from __future__ import annotations

import types
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dvm import classes
from dvm.classes import is_mutable_class, lookup, mro_of, names_in
from dvm.magpy_capture.values import (
    Abstract,
    DefaultDict,
    DictValue,
    ListValue,
    Literal,
    OrderedValue,
    Sequence,
)
from dvm.magpy_capture.values.kinds import MISSING


@dataclass(frozen=True)
class Kind:
    """What is known of a class of C that others inherit from.

    empty: makes the content of a new one.
    asks: methods of an object that those of the class itself call, but for those in `quiet`.
    """

    empty: Callable[[], Abstract] | None = None
    asks: tuple[str, ...] = ()
    quiet: frozenset[str] = frozenset()


_QUIET = frozenset({"clear", "get", "items", "keys", "move_to_end", "values"})
_ITEMS = ("__getitem__", "__setitem__", "__delitem__", "__contains__", "keys")

_KINDS: dict[type, Kind] = {
    list: Kind(lambda: ListValue([])),
    tuple: Kind(lambda: Sequence([])),
    dict: Kind(lambda: DictValue({})),
    OrderedDict: Kind(lambda: OrderedValue({}), _ITEMS, _QUIET),
    defaultdict: Kind(lambda: DefaultDict(Literal(None), {}), ("__missing__",)),
    types.SimpleNamespace: Kind(),
    types.MappingProxyType: Kind(),
}
#: The same by id, for a metaclass may say what the hash of a class is.
KINDS = {id(base): kind for base, kind in _KINDS.items()}
#: What collections.namedtuple and typing.NamedTuple put into a class besides its fields.
NAMED = frozenset(
    "__slots__ _fields _field_defaults _fields_defaults _make __new__ _replace __replace__ "
    "__repr__ _asdict __getnewargs__ __match_args__ __module__ __doc__ __annotations__ "
    "__orig_bases__ __classcell__ __firstlineno__ __static_attributes__ "
    "__annotate_func__ __annotations_cache__ __classdictcell__".split()
)
#: What runs of a class in C where it is looked up in an object.
SLOTS = (types.MethodDescriptorType, types.WrapperDescriptorType)


def kind_of(cls: type) -> Kind | None:
    """The row of `cls` itself."""
    return KINDS.get(id(cls))


#: the module of named tuples, in C, that functions of PyTorch return
RETURNED = "torch.return_types"


def is_plain_tuple(cls: type) -> bool:
    """Whether it is a named tuple as the library makes them, which has no code of the user's."""
    order = mro_of(cls)
    if classes.module_of(cls) == RETURNED:
        return True
    if len(order) != 3 or order[1] is not tuple:
        return False
    own = names_in(cls)
    fields = own.get("_fields")
    return type(fields) is tuple and set(own) <= NAMED | set(fields)


def base_of(cls: type) -> type | None:
    """The class of the table that a class of Python inherits from, if any."""
    if not is_mutable_class(cls) or is_plain_tuple(cls):
        return None
    if any(each is Counter for each in mro_of(cls)):
        return None
    return next((base for base in mro_of(cls) if id(base) in KINDS), None)


def inherited(cls: type, name: str) -> Any:
    """What `cls` has of the class of C that it inherits from, under the name; or of object."""
    base = cls if id(cls) in KINDS else base_of(cls) or object
    return lookup(base, name, MISSING)


def field_of(descriptor: Any) -> int | None:
    """The place of a field of a named tuple."""
    if classes.name_of(type(descriptor)) != "_tuplegetter":
        return None
    return int(descriptor.__reduce__()[1][0])
