"""Lowering: gives every recorded event its meaning, in order, and writes the steps of the path.

What has no meaning here ends the path in a fallback, after the guards so far: a call that takes
another way at one of them may still be compiled.
"""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np

from dvm import _dvm
from dvm.magpy_capture.calls import Calls
from dvm.magpy_capture.effects import finish
from dvm.magpy_capture.graphs import Modes
from dvm.magpy_capture.objects import class_attribute, is_constant
from dvm.magpy_capture.program import MISSING, describe
from dvm.magpy_capture.spec import NotCapturable, PathSpec
from dvm.magpy_capture.special_methods import looked_up
from dvm.magpy_capture.tables import (
    BINARY_OPERATORS,
    COMPARE_OPERATORS,
    UNARY_OPERATORS,
    WHOLE,
)
from dvm.magpy_capture.values import (
    Abstract,
    Closure,
    DictValue,
    End,
    Gone,
    Host,
    Instance,
    IteratorValue,
    ListValue,
    Literal,
    Method,
    OwnDict,
    Partial,
    Sequence,
    SetValue,
    Size,
    SliceValue,
    Tensor,
)

Operands = list[int]
Followed = tuple[str, str, list[str], int, Any]
GUARDS = ("guard_truth", "guard_value", "guard_overlap", "guard_same")


class Lowering(Calls):
    """Lowers one recording into the path it describes."""

    def __init__(
        self,
        spec: PathSpec,
        recording: dict[str, Any],
        modes: Modes,
        builtins: dict[str, Any],
        whole: set[int] = frozenset(),  # type: ignore[assignment]
    ) -> None:
        super().__init__(spec, modes)
        self.builtins = [builtins]  # of the frames that are open: a function may have its own
        self.recording = recording
        self.whole = whole  # ids of NumPy's functions whose bodies are not looked into
        self.nodes = recording["nodes"]
        self.values: dict[int, Abstract] = {}
        self.globals: dict[tuple[int, str], Abstract] = {}  # rebound by the program
        self.cells: dict[int, Abstract] = {}
        # The followed event whose body comes next, and those of the frames that are open:
        # kind, name, keywords, result, callee.
        self.pending: Followed | None = None
        self.entered: list[Followed | None] = []
        for node in self.nodes:
            if node[5] is not None:
                self.snapshots.setdefault(id(node[4]), node[5])

    def run(self) -> None:
        recording = self.recording
        events = recording["events"]
        number = 0
        while number < len(events):
            kind, name, operands, keywords, result, at, followed = events[number]
            self.at = at
            handler = getattr(self, "on_" + kind)
            number += 1
            if followed:
                callee = self.seen(operands[0])
                end = body_end(events, number) if id(callee) in self.whole else 0
                if end:
                    number, followed = end, False
                else:
                    self.pending = (kind, name, keywords, result, callee)
            value = handler(name, operands, keywords, result, followed)
            if result >= 0 and not followed:
                self.check(value, self.seen(result))
                self.values[result] = value
        if recording["aborted"]:
            raise NotCapturable(recording["aborted"], recording["aborted_at"])
        finish(self, self.value(recording["result"]))

    def open_function(self) -> Any:
        """The innermost function of NumPy whose body is being lowered, if it can be called whole.

        None if there is none, or if it is one that was refused as a whole already.
        """
        for cause in reversed(self.entered):
            if cause is not None and cause[0] in ("call", "call_ex") and id(cause[4]) in WHOLE:
                return cause[4]
        return None

    # ---- nodes

    def seen(self, node: int) -> Any:
        return self.nodes[node][4] if node >= 0 else None

    def value(self, node: int) -> Abstract:
        if node < 0:
            raise self.refuse("a value of unknown origin")
        if node not in self.values:
            self.values[node] = self.origin(node)
        value = self.resolve(self.values[node])
        self.values[node] = value
        return value

    def origin(self, node: int) -> Abstract:
        kind, index, name, scope, seen, _ = self.nodes[node]
        if kind == "argument":
            fetch = lambda: self.step("argument", index, key=("argument", index))  # noqa: E731
            return self.reach(fetch, seen)
        if kind == "global":
            return self.global_variable(scope, name, seen)
        if kind == "closure":
            if id(scope) in self.cells:
                return self.cells[id(scope)]
            fetch = lambda: self.step("cell", scope, key=("cell", id(scope)))  # noqa: E731
            return self.reach(fetch, seen)
        if kind == "default":
            return self.default(scope, index, seen)
        if kind == "event":
            raise self.refuse("a value of unknown origin")
        return Literal(seen)

    def global_variable(self, scope: dict[str, Any], name: str, seen: Any) -> Abstract:
        if (id(scope), name) in self.globals:
            return self.globals[id(scope), name]
        if name not in scope:
            self.guard_name(scope, name, MISSING)
            scope = self.builtins[-1]

        def fetch() -> int:
            return self.step("variable", scope, name, key=("variable", id(scope), name))

        return self.reach(fetch, seen, (scope, name))

    def default(self, function: types.FunctionType, slot: int, seen: Any) -> Abstract:
        """A parameter that the call did not give.

        It is a part of the function, whose defaults are guarded together with its code.
        """
        code = function.__code__
        if slot < code.co_argcount:
            if is_constant(seen):
                return Literal(seen)
            defaults = function.__defaults__ or ()
            place = slot - (code.co_argcount - len(defaults))
            holder = self.constant(defaults)
            fetch = lambda: self.step("item", holder, place, key=("item", holder, place))  # noqa: E731
        else:
            holder = self.constant(function.__kwdefaults__)
            key = code.co_varnames[slot]
            fetch = lambda: self.step("key", holder, key, key=("key", holder, key))  # noqa: E731
        return self.reach(fetch, seen)

    def check(self, value: Abstract, seen: Any) -> None:
        """Compares the lowered value with what the execution produced."""
        value = self.resolve(value)
        if not isinstance(value, Tensor):
            return
        if not isinstance(seen, np.generic) and type(seen) is not np.ndarray:
            raise self.refuse(f"a result of type {type(seen).__name__}")
        if seen.dtype.name != value.dtype or seen.ndim != value.rank:
            raise self.refuse(
                f"NumPy gave {seen.dtype.name} of rank {seen.ndim} where the graph has "
                f"{value.dtype} of rank {value.rank}"
            )
        value.is_scalar = isinstance(seen, np.generic)
        if value.is_scalar:
            value.object = seen
        elif value.object is None:
            value.object = seen
            big = [axis for axis in range(seen.ndim) if seen.shape[axis] > 1]
            order = sorted(big, key=lambda axis: -abs(seen.strides[axis]))
            if (
                seen.size
                and value.open_order is None
                and order != [a for a in value.order if a in big]
                and all(seen.strides[axis] for axis in big)
            ):
                raise self.refuse("a result in another memory order than expected")

    # ---- frames

    def on_enter(self, name: str, operands: Operands, *_: Any) -> None:
        self.frames.append(operands)
        self.entered.append(self.pending)
        self.pending = None
        node = operands[-1]
        function = self.seen(node)
        self.builtins.append(function.__builtins__)
        if isinstance(self.values.get(node), Closure):
            return
        code = function.__code__
        self.guard(
            "guard_code",
            function,
            code,
            function.__defaults__,
            function.__kwdefaults__,
            key=(id(function),),
        )

    def on_leave(self, _n: str, operands: Operands, *_: Any) -> None:
        if not self.frames:
            raise self.refuse("an iterator that ended")
        self.frames.pop()
        self.builtins.pop()
        cause = self.entered.pop()
        if cause is None or not operands:  # an iterator that is exhausted returns nothing
            return
        kind, name, keywords, result, _ = cause
        self.pending = cause  # a second body may follow: __init__ after __new__, __radd__ ...
        returned = self.value(operands[0])
        if isinstance(returned, Literal) and returned.object is NotImplemented:
            return
        answer = self.seen(operands[0])
        if kind == "branch" or name == "not":
            if type(answer) is not bool:  # of __len__, for __bool__ gives bools
                self.guard_length_range(returned)
            if kind == "branch":
                self.outcome(returned, keywords[0] == "1")
        elif kind == "call" and type(answer) is int and self.seen(result) == answer:
            self.guard_length_range(returned)
        if result < 0 or result in self.values or result == operands[0]:
            return
        seen = self.seen(result)
        if kind == "contains" or name in ("not", "!="):
            negative = name in ("not in", "not") or (
                name == "!=" and seen != self.seen(operands[0])
            )
            self.values[result] = self.truth_of(returned, negative, seen)
        elif seen is self.seen(operands[0]):
            self.values[result] = returned

    def guard_length_range(self, value: Abstract) -> None:
        """len() and truth refuse a negative length, and one beyond sys.maxsize."""
        if isinstance(value, (Host, Size, Tensor)):
            dim = self.dim_of(value)
            self.is_negative(dim)
            if not self.is_natural(dim):
                limit = self.constant(sys.maxsize)
                test = self._operate("<=", self.register_of_dim(dim), limit)
                self.guard("guard_truth", test, True)

    def truth_of(self, value: Abstract, negative: bool, seen: bool) -> Abstract:
        """`bool(value)` or its negation, of what a special method returned."""
        if isinstance(value, Literal):
            return Literal(seen)
        return self.host_operation("not" if negative else "truth", [value], seen)

    def on_new(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        self.value(operands[0])
        self.guard_lifetime(type(self.seen(result)))
        return Instance(type(self.seen(result)), object=self.seen(result))

    # ---- calls

    def on_call(
        self, _n: str, operands: Operands, keywords: list[str], result: int, followed: bool
    ) -> Abstract:
        callee = self.value(operands[0])
        if followed:
            return self.followed_call(callee)
        rest = [self.value(node) for node in operands[1:]]
        positional = rest[: len(rest) - len(keywords)]
        named = dict(zip(keywords, rest[len(positional) :], strict=True))
        return self.call(callee, positional, named, self.seen(result))

    def on_call_ex(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        callee = self.value(operands[0])
        if followed:
            return self.followed_call(callee)
        positional = self.elements(self.value(operands[1]))
        named: dict[str, Abstract] = {}
        if len(operands) > 2:
            mapping = self.value(operands[2])
            if not isinstance(mapping, DictValue):
                raise self.refuse(f"** of {describe(mapping)}")
            named = dict(mapping.items)
        return self.call(callee, positional, named, self.seen(result))

    def followed_call(self, callee: Abstract) -> None:
        """The body is recorded; that it is this function's was settled by the callee's guards."""
        if not isinstance(callee, (Literal, Closure, Method, Partial)):
            if isinstance(callee, Instance):
                self.guard_class(callee.cls, "__call__", class_attribute(callee.cls, "__call__"))
                return
            if isinstance(callee, Host):
                raise self.refuse(f"a call of {describe(callee)}")
            raise self.refuse(f"a call of {describe(callee)}")
        if isinstance(callee, Literal) and isinstance(callee.object, type):
            for name in ("__new__", "__init__"):
                self.guard_class(callee.object, name, class_attribute(callee.object, name))

    def dispatched(self, operands: Operands) -> None:
        """A followed operator: the classes of its operands decide what runs."""
        assert self.pending is not None
        kind, name, *_ = self.pending
        for node in operands:
            value = self.value(node)
            if isinstance(value, Instance):
                for method in looked_up(kind, name):
                    found = class_attribute(value.cls, method)
                    self.guard_class(value.cls, method, found)

    # ---- operators

    def on_binary(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        a, b = (self.value(node) for node in operands)
        return self.binary(name, a, b, self.seen(result))

    def on_inplace(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        a, b = (self.value(node) for node in operands)
        if isinstance(a, Tensor) and not a.is_scalar:
            self.ufunc_call(BINARY_OPERATORS[name], [a, b], {"out": a}, self.seen(result))
            return a
        if isinstance(a, ListValue) and name == "+":
            for part in self.elements(b):
                a.append(part)
            a.changed = True
            return a
        mutable = isinstance(a, Host) and isinstance(a.object, np.ndarray)
        if mutable or isinstance(a, (ListValue, SetValue, DictValue)):
            raise self.refuse(f"the operator {name}= on {describe(a)}")
        return self.binary(name, a, b, self.seen(result))

    def binary(self, name: str, a: Abstract, b: Abstract, seen: Any) -> Abstract:
        if self.is_integer_scalar(a, b):  # NumPy warns when these overflow, unlike arrays
            return self.host_operation(name, [a, b], seen)
        if name == "**" and (shortcut := self.power_shortcut(a, b)) is not None:
            return self.ufunc_call(shortcut, [a], {}, seen)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.ufunc_call(BINARY_OPERATORS[name], [a, b], {}, seen)
        return self.python_binary(name, a, b, seen)

    def is_integer_scalar(self, *values: Abstract) -> bool:
        """Whether all are NumPy integer scalars, or Python ints beside one."""
        tensors = [value for value in values if isinstance(value, Tensor)]
        if not tensors or not all(t.is_scalar and np.dtype(t.dtype).kind in "iu" for t in tensors):
            return False
        return all(isinstance(value, Tensor) or self.class_of(value) is int for value in values)

    def power_shortcut(self, a: Abstract, b: Abstract) -> np.ufunc | None:
        """What ndarray.__pow__ computes small exponents with (NumPy: number.c)."""
        if not isinstance(a, Tensor) or a.is_scalar or not isinstance(b, Literal):
            return None
        if type(b.object) not in (int, float):
            return None
        if b.object == 2:
            return np.square
        if np.dtype(a.dtype).kind != "f":
            return None
        return {0.5: np.sqrt, 1.0: np.positive, -1.0: np.reciprocal}.get(float(b.object))

    def on_unary(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        a = self.value(operands[0])
        if name == "not":
            return self.negation(a, self.seen(result))
        if isinstance(a, Tensor) and not self.is_integer_scalar(a):
            return self.ufunc_call(UNARY_OPERATORS[name], [a], {}, self.seen(result))
        return self.host_operation(name, [a], self.seen(result))

    def negation(self, a: Abstract, seen: bool) -> Abstract:
        if isinstance(a, (Tensor, Host, Size)):
            return self.computed(self.operator("not", [a]), seen)
        if isinstance(a, (ListValue, DictValue)):
            self.elements(a)  # its length is looked at
        elif isinstance(a, Instance):
            self.outcome(a, not seen)
        return Literal(seen)

    def on_compare(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        a, b = (self.value(node) for node in operands)
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return self.ufunc_call(COMPARE_OPERATORS[name], [a, b], {}, self.seen(result))
        return self.host_operation(name, [a, b], self.seen(result))

    def on_is(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        a, b = (self.value(node) for node in operands)
        return self.same_object(a, b, self.seen(result))

    def same_object(self, a: Abstract, b: Abstract, seen: bool) -> Abstract:
        """`a is b`, where every call of the path gives the recorded answer."""
        if a is b:
            return Literal(seen)
        literals = [value for value in (a, b) if isinstance(value, Literal)]
        if len(literals) == 2 and all(value.identical for value in literals):
            return Literal(seen)
        if any(is_singleton(value.object) for value in literals):
            other = b if a is literals[0] else a
            if isinstance(other, Host) and type(other.object) is bool:
                self.pin(other, other.object)
            return Literal(seen)  # a value of a known type is never one of the singletons
        if any(isinstance(value, (Host, Size)) for value in (a, b)) or len(literals) == 2:
            raise self.refuse(f"the identity of {describe(a)} and {describe(b)}")
        if all(isinstance(value, Tensor) and value.is_scalar for value in (a, b)):
            if a.storage.host >= 0 or b.storage.host >= 0:  # a call may return its argument
                self.guard("guard_same", self.register_of(a), self.register_of(b), seen)
            return Literal(seen)
        if any(isinstance(value, Tensor) and value.maybe is not None for value in (a, b)):
            raise self.refuse("the identity of what may be a view or a copy")
        registers = [self.own_register(value) for value in (a, b)]
        if all(register >= 0 for register in registers):
            self.guard("guard_same", *registers, False)
        return Literal(seen)

    def own_register(self, value: Abstract) -> int:
        """The register of an object of the caller, or -1 for one the program made."""
        if isinstance(value, Tensor):
            return value.storage.register if value.base is None else -1
        return int(getattr(value, "register", -1))

    def on_contains(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        item, container = (self.value(node) for node in operands)
        if isinstance(container, DictValue):
            present = self.has_key(container, self.plain(item))
            return Literal(present == (name == "in"))
        if isinstance(container, SetValue):
            self.plain(item)
            return Literal(self.seen(result))
        if isinstance(container, OwnDict):
            self.owns(container, self.plain(item))
            return Literal(self.seen(result))
        return self.host_operation(name, [item, container], self.seen(result))

    # ---- parts

    def on_subscript(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        base, key = (self.value(node) for node in operands)
        return self.subscript(base, key, self.seen(result))

    def on_store_subscript(
        self, _n: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> None:
        if followed:
            return self.dispatched(operands)
        self.store_subscript(*(self.value(node) for node in operands))
        return None

    def on_delete_subscript(self, _n: str, operands: Operands, *_: Any) -> None:
        base, key = (self.value(node) for node in operands)
        if isinstance(base, ListValue):
            del base.elements[self.plain(key)]
        elif isinstance(base, DictValue):
            del base.items[self.plain(key)]
        else:
            raise self.refuse(f"del of a part of {describe(base)}")
        base.changed = True

    def on_attribute(
        self, name: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        base = self.value(operands[0])
        if followed:
            if isinstance(base, Instance):
                return self.followed_attribute(base, name)
            raise self.refuse(f"attribute {name} of {describe(base)}")
        return self.attribute(base, name, self.seen(result))

    def followed_attribute(self, base: Instance, name: str) -> None:
        """A property or another descriptor, or __getattr__, written in Python."""
        found = class_attribute(base.cls, name)
        for hook in ("__getattribute__", "__getattr__"):
            method = class_attribute(base.cls, hook)
            self.guard_class(base.cls, hook, method)
        self.guard_class(base.cls, name, found)
        if not hasattr(type(found), "__set__") and base.register >= 0:
            self.guard("guard_lacks", base.register, name)

    def on_store_attribute(
        self, name: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> None:
        base, value = (self.value(node) for node in operands)
        if isinstance(base, Literal) and isinstance(base.object, type) and not followed:
            if type(base.object).__setattr__ is not type.__setattr__:
                raise self.refuse(f"setting attribute {name} of {describe(base)}")
            self.class_changes[id(base.object), name] = (base.object, name, value)
            return
        if not isinstance(base, Instance):
            raise self.refuse(f"setting attribute {name} of {describe(base)}")
        setter = class_attribute(base.cls, "__setattr__")
        self.guard_class(base.cls, "__setattr__", setter)
        if followed:  # a property, or a __setattr__ written in Python
            found = class_attribute(base.cls, name)
            self.guard_class(base.cls, name, found)
            return
        if setter is not object.__setattr__:
            raise self.refuse(f"setting attribute {name} of {describe(base)}")
        self.set_plainly(base, name, value)

    def on_delete_attribute(self, name: str, operands: Operands, *_: Any) -> None:
        base = self.value(operands[0])
        if not isinstance(base, Instance) or name not in base.attributes:
            raise self.refuse(f"deleting attribute {name} of {describe(base)}")
        base.attributes[name] = Gone()
        base.changed[name] = None

    def on_store_global(self, name: str, operands: Operands, *_: Any) -> None:
        scope = self.seen(operands[1])
        value = self.value(operands[0])
        self.globals[id(scope), name] = value
        self.changed_variables[id(scope), name] = (scope, name, value)

    def on_store_cell(self, _n: str, operands: Operands, *_: Any) -> None:
        cell = self.seen(operands[1])
        self.cells[id(cell)] = self.value(operands[0])
        self.changed_cells[id(cell)] = (cell, self.cells[id(cell)])

    # ---- building

    def on_tuple(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        return Sequence([self.value(node) for node in operands])

    def on_list(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        return ListValue([self.value(node) for node in operands], object=self.seen(result))

    def on_set(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        return SetValue({self.plain(self.value(node)) for node in operands})

    def on_dict(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        pairs = [self.value(node) for node in operands]
        keys = [self.plain(key) for key in pairs[::2]]
        return DictValue(dict(zip(keys, pairs[1::2], strict=True)))

    def on_string(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.value(node) for node in operands]
        if all(isinstance(part, Literal) for part in parts):
            return Literal(self.seen(result))
        register = self.step("string", [self.register_of(part) for part in parts])
        return Host(register, self.seen(result))

    def on_format(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        parts = [self.value(node) for node in operands]
        if not all(self.is_pure(part) for part in parts):
            raise self.refuse(f"formatting {describe(parts[0])}")
        if all(isinstance(part, Literal) and is_constant(part.object) for part in parts):
            return Literal(self.seen(result))
        spec = self.register_of(parts[1]) if len(parts) > 1 else -1
        return Host(self.step("format", self.register_of(parts[0]), name, spec), self.seen(result))

    def on_slice(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        parts = [self.value(node) for node in operands]
        return SliceValue(parts[0], parts[1], parts[2] if len(parts) > 2 else Literal(None))

    def on_list_append(self, _n: str, operands: Operands, *_: Any) -> None:
        self.value(operands[0]).append(self.value(operands[1]))

    def on_list_extend(self, _n: str, operands: Operands, *_: Any) -> None:
        self.value(operands[0]).elements.extend(self.elements(self.value(operands[1])))

    def on_set_add(self, _n: str, operands: Operands, *_: Any) -> None:
        self.value(operands[0]).elements.add(self.plain(self.value(operands[1])))

    def on_set_update(self, _n: str, operands: Operands, *_: Any) -> None:
        added = self.elements(self.value(operands[1]))
        self.value(operands[0]).elements.update(self.plain(part) for part in added)

    def on_map_add(self, _n: str, operands: Operands, *_: Any) -> None:
        target, key, value = (self.value(node) for node in operands)
        target.items[self.plain(key)] = value

    def on_dict_update(self, _n: str, operands: Operands, *_: Any) -> None:
        target, source = (self.value(node) for node in operands)
        if not isinstance(source, DictValue):
            raise self.refuse(f"** of {describe(source)}")
        target.items.update(source.items)

    on_dict_merge = on_dict_update

    def on_list_to_tuple(self, _n: str, operands: Operands, *_: Any) -> Abstract:
        return Sequence(list(self.value(operands[0]).elements))

    def on_function(self, _n: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        return Closure(self.seen(result))

    def on_import(self, name: str, _o: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        module = self.seen(result)
        top = name if sys.modules.get(name) is module else name.partition(".")[0]
        if sys.modules.get(top) is not module:
            raise self.refuse(f"the import of {name}")
        self.guard_name(sys.modules, top, module)
        return Literal(module)

    def on_import_from(
        self, name: str, operands: Operands, _k: Any, result: int, _f: bool
    ) -> Abstract:
        return self.attribute(self.value(operands[0]), name, self.seen(result))

    # ---- iteration

    def on_iter(
        self, _n: str, operands: Operands, _k: Any, result: int, followed: bool
    ) -> Abstract:
        if followed:
            return self.dispatched(operands)
        return self.iterator(self.value(operands[0]))

    def on_next(self, name: str, operands: Operands, _k: Any, _r: int, followed: bool) -> Abstract:
        if followed:
            return self.dispatched(operands)
        iterator = self.value(operands[0])
        if not isinstance(iterator, IteratorValue):
            raise self.refuse(f"iteration over {describe(iterator)}")
        item = iterator.pull()
        if (item is End) != (name == "exhausted"):
            raise self.refuse("an iteration that went on otherwise than expected")
        return None if item is End else item

    def on_unpack(self, name: str, operands: Operands, _k: Any, result: int, _f: bool) -> Abstract:
        index, _, total = name.partition("/")
        before, star, after = total.partition("*")
        base = self.value(operands[0])
        if isinstance(base, IteratorValue):
            base = self.values[operands[0]] = Sequence(self.elements(base))  # which ends it
        parts = self.elements(base)
        if not star:
            if len(parts) != int(total):
                raise self.refuse("unpacking of another length than recorded")
            return self.resolve(parts[int(index)])
        first, last = int(before), int(after)
        if int(index) == first:
            return ListValue(parts[first : len(parts) - last], object=self.seen(result))
        place = int(index)
        if place > first:
            place = len(parts) - last + (place - first - 1)
        return self.resolve(parts[place])

    # ---- branches and contexts

    def on_branch(
        self, name: str, operands: Operands, keywords: list[str], _r: int, followed: bool
    ) -> None:
        if followed:
            return self.dispatched(operands)
        value, taken = self.value(operands[0]), keywords[0] == "1"
        if name == "none":
            return None  # a value of the path is known to be None or known not to be
        self.outcome(value, taken)
        return None

    def outcome(self, value: Abstract, taken: bool) -> None:
        """The truth of `value` steered the program: later calls must agree, or branch off."""
        if isinstance(value, Size) and value.dim.constant is not None:
            return
        if isinstance(value, Tensor) and value.is_scalar and value.dtype == "bool":
            self.guard("guard_truth", self.leave(self.value_of(value), "bool"), taken)
        elif isinstance(value, (Tensor, Host, Size)):
            if not self.is_pure(value):
                raise self.refuse(f"the truth of {describe(value)}")
            self.guard("guard_truth", self.register_of(value), taken)
        elif isinstance(value, (ListValue, DictValue)):
            self.elements(value)  # its length is looked at
        elif isinstance(value, Instance):
            for name in ("__bool__", "__len__"):
                if class_attribute(value.cls, name) is not MISSING:
                    raise self.refuse(f"the truth of {describe(value)}")
                self.guard_class(value.cls, name, MISSING)

    def on_with_enter(
        self, _n: str, operands: Operands, _k: Any, _r: int, followed: bool
    ) -> Abstract:
        manager = self.value(operands[0])
        if followed:
            if isinstance(manager, Instance):
                found = class_attribute(manager.cls, "__enter__")
                self.guard_class(manager.cls, "__enter__", found)
            return None
        return self.enter_context(manager)


def is_singleton(value: Any) -> bool:
    single = value is None or value is Ellipsis or isinstance(value, (bool, type))
    return single or type(value) is object


def body_end(events: list[Any], number: int) -> int:
    """Where the body that follows event `number` - 1 ends; 0 if the recording ended within it."""
    depth = 0
    for place in range(number, len(events)):
        depth += {"enter": 1, "leave": -1}.get(events[place][0], 0)
        if depth == 0 and events[place][0] == "leave":
            return place + 1
    return 0


def lower(spec: PathSpec, recording: dict[str, Any], function: Any) -> None:
    """Fill `spec` with the steps of the recorded path of `function`; it may end in a fallback.

    Where the body of one of NumPy's own functions cannot be lowered, all is lowered again with that
    function called as it is: innermost first.
    """
    modes = np.geterr()
    entry: Modes = (modes["divide"], modes["over"], modes["under"], modes["invalid"])
    whole: set[int] = set()
    while True:
        lowering = Lowering(spec, recording, entry, function.__builtins__, whole)
        refusal = refusal_of(lowering)
        opened = lowering.open_function() if refusal else None
        if opened is None or id(opened) in whole:
            break
        whole.add(id(opened))
        spec.steps.clear()
    if refusal is not None:
        spec.reason, spec.reason_at = refusal.reason, refusal.at
        steps = lowering.steps
        if ("commit",) in steps:
            del steps[steps.index(("commit",)) :]
        while steps and not steps[-1][0].startswith("guard"):
            steps.pop()
        steps.append(("fallback", refusal.reason, refusal.at))
    lowering.finish_segments()
    spec.steps = lowering.steps.with_lines()
    spec.sizes = lowering.symbol_values


def refusal_of(lowering: Lowering) -> NotCapturable | None:
    """Lower, and return why that was given up, if it was.

    The exception raised would keep alive, by its traceback, what the program has dropped.
    """
    try:
        lowering.run()
        return None
    except NotCapturable as refusal:
        reason, at = refusal.reason, refusal.at
    except _dvm.Error as error:  # a limit of the core: rank, number of symbols ...
        reason, at = str(error), lowering.at
    return NotCapturable(reason, at)


__all__ = ["lower"]
