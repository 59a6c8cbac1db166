"""One frame under the reference tracer: the nodes in its locals and on its value stack.

Each instruction is applied with the meaning the `dis` manual gives it, before it runs; what it
produced is read off the real stack at the frame's next event.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable, Sequence
from typing import Any

from dvm import _dvm, reasons
from reference_tracer.record import (
    NO_NODE,
    NULL,
    Place,
    Record,
    UnkeepableError,
    UnrecordableError,
    is_cell_slot,
    looks_at_lifetimes,
)
from reference_tracer.tables import (
    BINARY,
    BUILDS,
    COMPARE,
    NOTHING,
    REASONS,
    UNARY,
    UPDATES,
)


class FrameShadow:
    """The nodes in one frame's locals and on its value stack."""

    def __init__(self, record: Record, frame: types.FrameType, parameters: Sequence[int]) -> None:
        self.record = record
        self.frame = frame
        self.code = frame.f_code
        _, slots, _ = _dvm.peek(frame)
        self.locals = [*parameters, *[NO_NODE] * (len(slots) - len(parameters))]
        self.stack: list[int] = []
        self.instruction = 0
        self.instance = NO_NODE  # what a call of a type results in, instead of __init__'s None
        self.returned = NO_NODE
        self.yielded = NO_NODE  # the item that a generator is about to give
        self.generator = NO_NODE  # that runs in the frame
        self.keyword_names: tuple[str, ...] = ()
        #: Settles the running instruction from the real (start, slots, stack); None: nothing to do.
        self.pending: Callable[[int, tuple[Any, ...]], None] | None = None
        self.event = -1
        self.followed = NO_NODE
        self.ending = NO_NODE  # what the generator returned that gave the items
        self.method_self = NO_NODE
        self.iterating = False
        self.sent = NO_NODE  # what a `yield from` hands on
        self.may_stop = False  # the frame gives the next item of an iteration
        self.called_back = False  # C code has what it returns, not the frame below
        self.stopped = False
        self.raising = NO_NODE  # the exception on its way out of the frame
        self.handled: list[int] = []  # exceptions whose handlers run, innermost last
        for slot, node in enumerate(self.locals):
            if is_cell_slot(self.code, slot, len(slots)):
                record.adopt_cell(slots[slot], node)

    @property
    def place(self) -> Place:
        return self.code, self.instruction

    def before_opcode(self) -> None:
        if self.stopped:
            raise UnrecordableError(reasons.EXCEPTION_RAISED("StopIteration"))
        start = index = self.frame.f_lasti // 2
        units = self.code.co_code
        oparg = units[2 * index + 1]
        while dis.opname[units[2 * index]] == "EXTENDED_ARG":
            index += 1
            oparg = oparg << 8 | units[2 * index + 1]
        name = dis.opname[units[2 * index]]
        _, slots, stack = _dvm.peek(self.frame)
        if self.raising != NO_NODE:
            self.enter_handler(start, stack)
        elif self.pending is not None:
            self.pending(start, stack)
            self.pending, self.event, self.followed, self.ending = None, -1, NO_NODE, NO_NODE
            self.iterating = False
        if len(stack) != len(self.stack):
            raise UnrecordableError(reasons.STACK_OUT_OF_STEP(units[2 * index]))
        self.record.opcodes += 1
        self.instruction = index
        self.apply(name, oparg, index, slots, stack)

    # ---- the effect of an instruction

    def apply(
        self, name: str, oparg: int, index: int, slots: tuple[Any, ...], stack: tuple[Any, ...]
    ) -> None:
        if name in NOTHING:
            return
        if name in REASONS:
            raise UnrecordableError(REASONS[name]())
        if name in UNARY:
            self.produce("unary", UNARY[name], self.pop(1))
        elif name in BUILDS:
            self.produce(BUILDS[name], "", self.pop(oparg * (2 if name == "BUILD_MAP" else 1)))
        elif name in UPDATES:
            items = self.pop(UPDATES[name])
            self.effect(name.lower(), "", [self.stack[-oparg], *items])
        elif "JUMP" in name:
            self.branch(name, oparg, index, stack)
        elif handler := getattr(self, name.lower(), None):
            handler(oparg, slots, stack)
        else:
            raise UnrecordableError(reasons.UNKNOWN_INSTRUCTION())

    def pop(self, count: int) -> list[int]:
        nodes = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return nodes

    def effect(
        self, kind: str, name: str, operands: Sequence[int], keywords: Sequence[str] = ()
    ) -> None:
        self.event = self.record.add(kind, name, operands, self.place, keywords)
        self.pending = lambda _start, _stack: None

    def produce(
        self, kind: str, name: str, operands: Sequence[int], keywords: Sequence[str] = ()
    ) -> None:
        self.effect(kind, name, operands, keywords)
        self.stack.append(NO_NODE)
        self.pending = self.settle_top

    def produced(self, seen: Any) -> int:
        """The node for what the running event came to: a followed body's own, or a new one."""
        if self.followed != NO_NODE:
            returned = self.record.object(self.followed)
            if returned is seen or (type(returned) is type(seen) is int and returned == seen):
                self.record.events[self.event][4] = self.followed
                return self.followed
        return self.record.add_result(self.event, seen)

    def settle_top(self, _start: int, stack: tuple[Any, ...]) -> None:
        if len(stack) == len(self.stack):
            self.stack[-1] = self.produced(stack[-1])

    def variable(self, oparg: int) -> str:
        return self.code.co_names[oparg]

    # ---- one method per instruction that is no row of a table above

    def pop_top(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack.pop()

    def push_null(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack.append(NO_NODE)

    def copy(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack.append(self.stack[-oparg])

    def swap(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack[-1], self.stack[-oparg] = self.stack[-oparg], self.stack[-1]

    def load_const(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack.append(self.record.constant(self.code.co_consts[oparg]))

    def load_assertion_error(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack.append(self.record.constant(AssertionError))

    def load_closure(self, oparg: int, slots: Any, _stack: Any) -> None:
        self.stack.append(self.record.constant(slots[oparg]))

    def load_fast(self, oparg: int, slots: Any, _stack: Any) -> None:
        node = self.locals[oparg]
        if slots[oparg] is not NULL and (
            node == NO_NODE or self.record.object(node) is not slots[oparg]
        ):
            raise UnrecordableError(reasons.UNKNOWN_LOCAL())
        self.stack.append(node)

    def store_fast(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.locals[oparg] = self.stack.pop()

    def delete_fast(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.locals[oparg] = NO_NODE

    def load_global(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.stack += [NO_NODE] * (oparg & 1)
        self.read_global(self.variable(oparg >> 1))

    def load_build_class(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.read_global("__build_class__")

    def read_global(self, name: str) -> None:
        self.stack.append(NO_NODE)

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) == len(self.stack):
                self.stack[-1] = self.record.global_(self.frame.f_globals, name, stack[-1])

        self.pending = settle

    def store_global(self, oparg: int, _slots: Any, _stack: Any) -> None:
        value = self.stack.pop()
        scope = self.frame.f_globals
        self.effect("store_global", self.variable(oparg), [value, self.record.constant(scope)])
        self.record.globals[id(scope), self.variable(oparg)] = value

    def load_deref(self, oparg: int, slots: Any, _stack: Any) -> None:
        self.stack.append(self.record.cell(slots[oparg]))

    def store_deref(self, oparg: int, slots: Any, _stack: Any) -> None:
        value, cell = self.stack.pop(), slots[oparg]
        if not self.record.is_adopted(cell):
            self.effect("store_cell", "", [value, self.record.constant(cell)])
        self.record.set_cell(cell, value)

    def delete_deref(self, oparg: int, slots: Any, _stack: Any) -> None:
        if not self.record.is_adopted(slots[oparg]):
            raise UnrecordableError(reasons.DELETED_CELL())
        self.record.set_cell(slots[oparg], NO_NODE)

    def load_attr(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("attribute", self.variable(oparg), self.pop(1))

    def store_attr(self, oparg: int, _slots: Any, _stack: Any) -> None:
        value, owner = self.pop(2)
        self.effect("store_attribute", self.variable(oparg), [owner, value])

    def delete_attr(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.effect("delete_attribute", self.variable(oparg), self.pop(1))

    def load_method(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.method_self = owner = self.stack.pop()
        self.effect("attribute", self.variable(oparg), [owner])
        self.stack += [NO_NODE, NO_NODE]

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) != len(self.stack):
                return
            if stack[-2] is NULL:
                self.stack[-1] = self.produced(stack[-1])
            else:
                self.stack[-2:] = [self.produced(stack[-2]), owner]

        self.pending = settle

    def binary_subscr(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("subscript", "", self.pop(2))

    def store_subscr(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        value, container, key = self.pop(3)
        self.effect("store_subscript", "", [container, key, value])

    def delete_subscr(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.effect("delete_subscript", "", self.pop(2))

    def binary_op(self, oparg: int, _slots: Any, _stack: Any) -> None:
        kind = "binary" if oparg < len(BINARY) else "inplace"
        self.produce(kind, BINARY[oparg % len(BINARY)], self.pop(2))

    def compare_op(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("compare", COMPARE[oparg], self.pop(2))

    def is_op(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("is", "is not" if oparg else "is", self.pop(2))

    def contains_op(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("contains", "not in" if oparg else "in", self.pop(2))

    def get_iter(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("iter", "", self.pop(1))

    get_yield_from_iter = get_iter

    def for_iter(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("next", "", self.stack[-1:])
        self.iterating = True

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) == len(self.stack):
                self.stack[-1] = self.produced(stack[-1])
            elif len(stack) == len(self.stack) - 2:
                del self.stack[-2:]
                self.record.events[self.event][1] = "exhausted"

        self.pending = settle

    def send(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.sent = self.stack.pop()
        self.produce("next", "", self.stack[-1:])
        self.iterating = True

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) == len(self.stack):
                self.stack[-1] = self.produced(stack[-1])
            elif len(stack) == len(self.stack) - 1:
                self.stack.pop()
                self.stack[-1] = self.ended_with(stack[-1])
                self.record.events[self.event][1] = "exhausted"

        self.pending = settle

    def ended_with(self, value: Any) -> int:
        """The value of a `yield from`: what its generator returned, None of any other iterator."""
        if self.ending != NO_NODE and self.record.object(self.ending) is value:
            return self.ending
        if value is not None:
            raise UnrecordableError(reasons.ITERATOR_ENDS_WITH_VALUE())
        return self.record.constant(None)

    def list_to_tuple(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("list_to_tuple", "", self.pop(1))

    def build_const_key_map(self, oparg: int, _slots: Any, stack: Any) -> None:
        *values, _ = self.pop(oparg + 1)
        items: list[int] = []
        for key, value in zip(stack[-1], values, strict=True):
            items += [self.record.constant(key), value]
        self.produce("dict", "", items)

    def format_value(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("format", ("", "s", "r", "a")[oparg & 3], self.pop(2 if oparg & 4 else 1))

    def make_function(self, oparg: int, _slots: Any, stack: Any) -> None:
        parts = ("defaults", "kwdefaults", "annotations", "closure")
        names = [part for bit, part in enumerate(parts) if oparg >> bit & 1]
        *values, code = self.pop(len(names) + 1)
        self.produce("function", stack[-1].co_qualname, [code, *values], names)

    def import_name(self, oparg: int, _slots: Any, _stack: Any) -> None:
        level, names = self.pop(2)
        self.produce("import", self.variable(oparg), [names, level])

    def import_from(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("import_from", self.variable(oparg), self.stack[-1:])

    def before_with(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        exit_event = self.record.add("attribute", "__exit__", self.stack[-1:], self.place)
        self.produce("with_enter", "", self.stack[-1:])

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) == len(self.stack):
                self.stack[-2] = self.record.add_result(exit_event, stack[-2])
                self.stack[-1] = self.produced(stack[-1])

        self.pending = settle

    def unpack_sequence(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.unpack([f"{i}/{oparg}" for i in range(oparg)])

    def unpack_ex(self, oparg: int, _slots: Any, _stack: Any) -> None:
        before, after = oparg & 0xFF, oparg >> 8
        self.unpack([f"{i}/{before}*{after}" for i in range(before + 1 + after)])

    def unpack(self, names: list[str]) -> None:
        sequence = self.stack.pop()
        events = [self.record.add("unpack", name, [sequence], self.place) for name in names]
        self.event = events[0] if events else -1
        self.stack += [NO_NODE] * len(events)

        def settle(_start: int, stack: tuple[Any, ...]) -> None:
            if len(stack) == len(self.stack):
                for i, event in enumerate(events):
                    self.stack[-1 - i] = self.record.add_result(event, stack[-1 - i])

        self.pending = settle

    def match_sequence(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("match_kind", "sequence", self.stack[-1:])

    def match_mapping(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("match_kind", "mapping", self.stack[-1:])

    def get_len(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("match_length", "", self.stack[-1:])

    def match_keys(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("match_keys", "", self.stack[-2:])

    def match_class(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.produce("match_class", str(oparg), self.pop(3))

    def kw_names(self, oparg: int, _slots: Any, _stack: Any) -> None:
        self.keyword_names = self.code.co_consts[oparg]

    def call(self, oparg: int, _slots: Any, _stack: Any) -> None:
        method, first, *arguments = self.pop(oparg + 2)
        self.method_self = NO_NODE
        if method == NO_NODE:
            operands = [first, *arguments]
        elif self.record.is_looked_up(method, first):
            self.method_self = first
            operands = [method, *arguments]
        else:
            operands = [method, first, *arguments]
        if looks_at_lifetimes(self.record.object(operands[0])):
            raise UnkeepableError(reasons.LIFETIME_LOOKED_AT())
        names, self.keyword_names = self.keyword_names, ()
        self.produce("call", "", operands, names)

    def call_function_ex(self, oparg: int, _slots: Any, _stack: Any) -> None:
        _, *operands = self.pop(3 + (oparg & 1))
        self.method_self = NO_NODE
        self.produce("call_ex", "", operands)

    def return_value(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.returned = self.stack.pop()

    def yield_value(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.yielded = self.stack.pop()

    def resume(self, sent: int) -> None:
        """The frame of a generator goes on, with what it was sent."""
        _, _, stack = _dvm.peek(self.frame)
        if sent != NO_NODE and stack and self.record.object(sent) is stack[-1]:
            self.stack.append(sent)
            return
        if not stack or stack[-1] is not None:
            raise UnrecordableError(reasons.SENT_INTO_GENERATOR())
        self.stack.append(self.record.constant(None))

    def raise_varargs(self, oparg: int, _slots: Any, stack: Any) -> None:
        if oparg == 0:
            if not self.handled:
                raise UnrecordableError(reasons.BARE_RAISE())
            self.raising = self.handled[-1]
            return
        raised = stack[-oparg]
        if self.may_stop and oparg == 1 and StopIteration in (raised, type(raised)):
            self.stack.pop()
            return
        self.effect("raise", "", self.pop(oparg))

    def reraise(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        self.raising = self.stack.pop()

    def push_exc_info(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        exception = self.stack.pop()
        self.handled.append(exception)
        self.stack += [self.record.constant(None), exception]

    def pop_except(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        if self.handled:
            self.handled.pop()
        self.stack.pop()

    def check_exc_match(self, _oparg: int, _slots: Any, _stack: Any) -> None:
        exception, classes = self.pop(2)
        self.stack.append(exception)
        self.produce("matches", "", [exception, classes])

    def with_except_start(self, _oparg: int, _slots: Any, stack: Any) -> None:
        manager, exception, seen = self.stack[-4], self.stack[-1], stack[-1]
        derived = [
            self.record.derive("attribute", name, [exception], self.place, part)
            for name, part in (
                ("__class__", type(seen)),
                ("__traceback__", seen.__traceback__),
            )
        ]
        self.method_self = NO_NODE
        self.produce("call", "", [manager, derived[0], exception, derived[1]])

    def raise_exception(self, seen: BaseException) -> None:
        """The running instruction raised."""
        kind = type(seen)
        name = kind.__name__
        if not kind.__flags__ & 1 << 9 and kind.__module__ != "builtins":
            name = f"{kind.__module__}.{name}"
        if self.event < 0 or self.record.events[self.event][6]:
            raise UnrecordableError(reasons.EXCEPTION_RAISED(name))
        self.raising = self.record.derive("raised", name, [], self.place, seen)

    def enter_handler(self, start: int, stack: tuple[Any, ...]) -> None:
        """The exception on its way is handled in this frame."""
        handler = next(
            (
                entry
                for entry in dis._parse_exception_table(self.code)  # type: ignore[attr-defined]
                if entry.start <= 2 * self.instruction < entry.end
            ),
            None,
        )
        if handler is None or handler.target != 2 * start or len(self.stack) < handler.depth:
            raise UnrecordableError(reasons.UNKNOWN_HANDLER())
        del self.stack[handler.depth :]
        if handler.lasti:
            self.stack.append(self.record.constant(stack[handler.depth]))
        self.stack.append(self.raising)
        if len(stack) != len(self.stack) or stack[-1] is not self.record.object(self.raising):
            raise UnrecordableError(reasons.EXCEPTION_TURNED())
        self.pending, self.event, self.followed, self.ending = None, -1, NO_NODE, NO_NODE
        self.raising, self.keyword_names, self.iterating = NO_NODE, (), False

    def branch(self, name: str, oparg: int, index: int, stack: tuple[Any, ...]) -> None:
        asks_none = "NONE" in name
        jumps_if = name.endswith("IF_NONE") or "TRUE" in name
        if oparg == 0:  # both ways are the same: the jump does not tell
            if type(stack[-1]).__flags__ & 1 << 9:
                raise UnrecordableError(reasons.IDLE_CONDITION())
            answer = stack[-1] is None if asks_none else bool(stack[-1])
        self.effect("branch", "none" if asks_none else "truth", self.stack[-1:])
        keeps = name.endswith("OR_POP")
        if not keeps:
            self.stack.pop()

        def settle(start: int, stack: tuple[Any, ...]) -> None:
            if keeps and len(stack) == len(self.stack) - 1:
                self.stack.pop()
            jumped = start != index + 1
            outcome = answer if oparg == 0 else jumped == jumps_if
            self.record.events[self.event][3] = ["1" if outcome else "0"]

        self.pending = settle
