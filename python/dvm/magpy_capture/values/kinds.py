"""What kinds of objects there are: constants, plain ones, classes made at run time."""

from __future__ import annotations

import enum
import functools
import operator
import random
import types
from typing import Any

from dvm import _dvm
from dvm.annotating import NOTHING, PACKAGED, annotation_of
from dvm.classes import is_mutable_class, lookup, mro_of
from dvm.magpy_capture.libraries import (
    ELEMENTWISE,
    EQUALS,
    FIELDS,
    GLOBAL_GENERATORS,
    INEXACT,
    NUMPY,
    SCALARS,
    UNCHANGING,
    holds_objects,
    is_describing,
    is_plain_array,
    is_scalar,
    owned,
)
from dvm.magpy_capture.values import Abstract, Literal, resolve
from dvm.magpy_capture.values.plain import PLAIN, PURE, imported

#: What is found where a name is not bound.
MISSING = _dvm.MISSING
#: Functions that look into their argument, and never change.
GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
#: Types whose objects are known by identity when reached through a name or an attribute.
FIXED = (
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    type,
    *UNCHANGING,
    types.GenericAlias,
    types.CodeType,
    types.NotImplementedType,
    enum.Enum,
    functools._lru_cache_wrapper,
    *GETTERS,
)
#: Instances of subclasses of these have state that is not in attributes.
NOT_PLAIN = (
    *(NUMPY.array, *SCALARS),
    *(BaseException, int, float, complex, str, bytes, tuple, list, dict),
    *(set, frozenset, types.ModuleType, type, enum.Enum),
)
SINGLETONS = (bool, type(None), type(Ellipsis))
#: Classes of numbers, texts and None, which have no parts.
NUMBERS: tuple[type, ...] = (int, float, complex, str, bytes, type(None), *SCALARS)
#: Exact types whose operators and methods change nothing and run no code of the user.
PURE_TYPES = (*PURE, *EQUALS)
#: The same, of what an array of objects may hold; and Decimal, where it is imported.
PLAIN_TYPES = PLAIN | set(EQUALS)


def is_number(value: Any) -> bool:
    """Whether it is a number, a text or None: nothing in it could be another object."""
    return issubclass(type(value), NUMBERS)


def is_view_type(type_: type) -> bool:
    """Whether it is a class of scalars with fields, which may be views of an array."""
    return issubclass(type_, FIELDS)


def may_be_view(value: Any) -> bool:
    return is_view_type(type(value))


def is_fixed(value: Abstract) -> bool:
    """Whether `value` is the same object or an equal constant on every call."""
    value = resolve(value)
    return isinstance(value, Literal) and is_constant(value.object)


def code_behind(function: Any) -> types.CodeType | None:
    """The code of a Python function that the path may know by it, or of a compiled one.

    None of one that has a meaning of its own: who it is matters.
    """
    inner = function.__wrapped__ if type(function) is _dvm.Compiled else function
    if type(inner) is not types.FunctionType or owned(inner):
        return None
    if _dvm.is_leaf(function) or _dvm.is_leaf(inner):
        return None
    known = annotation_of(function) is NOTHING and annotation_of(inner) is NOTHING
    return inner.__code__ if known else None


def is_shared_draw(value: Any) -> bool:
    """A method of a global generator: `np.random.rand`, `random.randint`."""
    owner = value.__self__ if type(value) is types.MethodType else None
    return type(owner) in (*GLOBAL_GENERATORS, random.Random)


def is_pure_object(value: Any) -> bool:
    kind = type(value)
    if is_plain_array(value) or is_scalar(value):
        return not holds_objects(value)
    if kind is tuple or kind is frozenset:
        return all(is_pure_object(part) for part in value)
    if kind in PLAIN_TYPES or kind in imported("decimal", "Decimal"):
        return True
    return is_describing(value)


def is_pure_class(value: Any) -> bool:
    """A type of Python or of a library itself, or an elementwise function, as an argument."""
    plain = isinstance(value, type) and not is_mutable_class(value)
    return plain or isinstance(value, ELEMENTWISE)


def is_constant(value: Any) -> bool:
    """Immutable through and through, so that the recorded object may serve every call."""
    if type(value) in (tuple, frozenset):
        return all(is_constant(part) for part in value)
    return type(value) in PURE_TYPES or isinstance(
        value,
        (
            *SCALARS,
            *EQUALS,
            *ELEMENTWISE,
            *(type, types.FunctionType, types.BuiltinFunctionType),
            *GETTERS,
        ),
    )


def has_one_text(value: Any) -> bool:
    """Whether a constant always looks the same: a class in Python may be given another name."""
    return is_constant(value) and not (isinstance(value, type) and is_mutable_class(value))


def is_nan(value: Any) -> bool:
    """A NaN is found in a container by its identity, which guards do not tell."""
    return isinstance(value, (float, complex, *INEXACT)) and bool(value != value)


def has_identity(cls: type) -> bool:
    """Whether it is a class of Python whose objects are told apart by who they are."""
    if not is_mutable_class(cls) or issubclass(cls, NOT_PLAIN):
        return False
    return all(class_attribute(cls, name) is vars(object)[name] for name in ("__hash__", "__eq__"))


def is_package_function(thing: Any) -> bool:
    """Whether it is a function of a leaf package, of a type of C of its own."""
    if is_mutable_class(type(thing)) or not callable(thing):
        return False
    return isinstance(getattr(thing, "__qualname__", None), str) and (
        annotation_of(thing) is PACKAGED
    )


def is_constant_of(cls: type, name: str) -> bool:
    """Whether the user vouches that instances never rebind the attribute (dvm.annotate)."""
    return any(name in annotation_of(owner).constant for owner in mro_of(cls))


def class_attribute(cls: type, name: str) -> Any:
    """What the class or a base has under the name (None, perhaps); MISSING if nothing."""
    return lookup(cls, name, MISSING)


#: What an instance itself has under a name, or MISSING. Asked for its `__dict__`, CPython would
#: make one, and all later accesses were slower.
own_attribute = _dvm.own_attribute


def name_of(function: Any) -> str:
    """A function's name for reasons: with its module, unless it is a builtin."""
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    if str(name).startswith("_") and isinstance(function, types.BuiltinFunctionType):
        name = function.__name__  # torch.conv1d is a method of a class that nobody sees
    return f"{module}.{name}" if module and module != "builtins" else str(name)
