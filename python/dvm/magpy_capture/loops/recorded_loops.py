"""Finds the loops of a recording, and reads a turn of one as a recording of its own."""

from __future__ import annotations

import functools
import types
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from dvm import _dvm, classes, reasons
from dvm.magpy_capture.libraries import is_array, is_scalar
from dvm.magpy_capture.loops.code import Held, LoopCode, called, loop_code
from dvm.magpy_capture.loops.parts import cut_out, loops_within
from dvm.magpy_capture.objects.adopted import Unknown
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import is_settled
from dvm.magpy_capture.tensors.written_parts import MOST_UPDATES
from dvm.magpy_capture.walk.callbacks import RESUMING

#: what a turn's tuple begins with where the loop goes on; else the place where the frame went on
NEXT = -1
RETURNED = ""  # among the variables of a loop: what the function returns from within it
TEXT_ITERATORS = {type(iter(text)) for text in ("", "\u0100", b"")}
#: events that make a container or an iterator of their operands, and methods that give its items
BUILDS = {"tuple", "list", "set", "dict", "iter"}
OF_ITEMS = {("attribute", name) for name in ("keys", "values", "items")}
#: what an array has of which a copy takes longer than the turns of a loop
LARGE_BYTES = 1 << 16
BLANK: tuple[Any, ...] = ("", "", [], [], -1, ("", 0), False)


@dataclass
class RecordedLoop:
    """A loop as it was run once.

    depth: how many frames are open.
    enter, out: the events at its beginning and behind it.
    headers: the events before each turn, and the one before nothing was left to iterate over.
    jumps: of turns behind some that were not recorded, the numbers that they had when they ran.
    goes_on: where the frame went on.
    exhausted: whether nothing was left to iterate over.
    changed: its `changed_lists`, once they are known; inner: the loops that its turns hold.
    held: attributes that are variables of it (held.py).
    """

    function: types.FunctionType
    code: types.CodeType
    begin: int
    end: int
    enter: int
    depth: int
    closed_over: frozenset[str]  # variables of functions around it, that the recording has made
    headers: list[int] = field(default_factory=list)
    jumps: dict[int, int] = field(default_factory=dict)
    out: int = -1
    goes_on: int = -1
    exhausted: bool = False
    changed: set[str] | None = None
    inner: list[RecordedLoop] | None = None
    held: tuple[Held, ...] = ()

    @functools.cached_property
    def loop(self) -> LoopCode:
        code = loop_code(self.code, self.begin, self.end)
        return code.holding(self.held) if self.held else code

    @property
    def is_for(self) -> bool:
        return self.loop.exhausted >= 0

    @property
    def count(self) -> int:
        """How many turns there were."""
        return len(self.headers) - self.exhausted

    def is_recorded(self, turn: int) -> bool:
        """Not one that stands for turns which the recorder has skipped: its end comes at once."""
        return self.event_behind(turn) > self.headers[turn] + 1

    def place_of(self, number: int) -> int:
        """Which of the headers is of the turn with this number; -1: it was skipped."""
        place = number
        for behind, its_number in self.jumps.items():
            if number < its_number:
                return place if place < behind else -1
            place = behind + number - its_number
        return place

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for all runs of which a turn does the same: a function's globals matter, too."""
        scope = id(self.function.__globals__)
        return self.code, self.begin, scope, self.closed_over, self.held

    def event_behind(self, turn: int) -> int:
        """The event that ends the turn."""
        return self.headers[turn + 1] if turn + 1 < len(self.headers) else self.out

    def first_event(self, turn: int) -> int:
        """The first event of the turn's own: the item is an argument."""
        return self.headers[turn] + 1 + self.is_for


def all_turns(
    recording: dict[str, Any], function: types.FunctionType, begin: int
) -> list[RecordedLoop]:
    """The loops that were run to their ends, by their beginnings."""
    events, nodes = recording["events"], recording["nodes"]
    functions = [function]
    open_loops: list[RecordedLoop] = []
    found: list[RecordedLoop] = []
    resumed = -2  # the last of the events that begin its body
    for number in recording["marks"]:
        if number < begin:
            continue
        kind, name, operands, *_ = events[number]
        if kind == "enter":
            if resumed == number - 1:  # the frame is open already
                functions.pop()
            functions.append(nodes[operands[-1]][4])
        elif kind in RESUMING:
            resumed = number
            functions.append(function)  # of what a generator goes on with no loop is rolled
        elif kind in ("leave", "yields"):
            functions.pop()
            if not functions:
                break
            while open_loops and open_loops[-1].depth > len(functions):
                open_loops.pop()
        elif kind == "header":
            how, first, last, *behind = name.split()
            code = nodes[operands[0]][4]
            if how == "enter":
                closed_over = frozenset(code.co_freevars) & frozenset(events[number][3])
                frame = (number, len(functions), closed_over)
                made = RecordedLoop(functions[-1], code, int(first), int(last), *frame)
                open_loops.append(made)
            if open_loops and open_loops[-1].begin == int(first) and open_loops[-1].code is code:
                if behind:
                    open_loops[-1].jumps[len(open_loops[-1].headers)] = int(behind[0])
                open_loops[-1].headers.append(number)
        elif kind == "out":
            first, goes_on = map(int, name.split())
            if open_loops and open_loops[-1].begin == first:
                done = open_loops.pop()
                done.out, done.goes_on = number, goes_on
                done.exhausted = tuple(events[done.headers[-1] + 1][:2]) == ("next", "exhausted")
                if done.function.__code__ is done.code:
                    found.append(done)
        elif kind == "given" and resumed == number - 1:
            resumed = number
    return sorted(found, key=lambda turns: turns.enter)


def is_of_constants(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether it goes over the same numbers or texts whenever it is run."""
    return turns.is_for and holds_constants(recording, iterator_of(recording, turns))


def iterator_of(recording: dict[str, Any], turns: RecordedLoop) -> int:
    """The node of what a `for` takes its items of."""
    iterator: int = recording["events"][turns.headers[0] + 1][2][0]
    return iterator


def holds_constants(recording: dict[str, Any], node: int) -> bool:
    """Whether it is a constant, or a range, container or iterator that the code makes of some."""
    events, nodes = recording["events"], recording["nodes"]
    origin, made, *_ = nodes[node]
    if origin != "event":
        return bool(origin == "constant")
    kind, _, operands, *_ = events[made]
    if kind == "call":
        callee, *operands = operands
        origin, made, _, _, function, _ = nodes[callee]
        if origin == "event" and events[made][:2] in OF_ITEMS:
            operands = [*operands, *events[made][2]]
        elif function is not range and function is not enumerate:
            return False
    elif kind not in BUILDS:
        return False
    return all(holds_constants(recording, operand) for operand in operands)


def branches_on_values(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether a turn went its way for what was computed: then each count is many paths."""
    events, nodes = recording["events"], recording["nodes"]

    def is_computed(node: int) -> bool:
        origin, made, _, _, seen, _ = nodes[node]
        if is_array(seen) or is_scalar(seen):
            return True
        compared = origin == "event" and events[made][0] == "compare"
        return compared and any(map(is_number_or_letter, events[made][2]))

    def is_number_or_letter(node: int) -> bool:
        """Whether calls differ in it, mostly: a float, or a piece of a text."""
        origin, made, _, _, seen, _ = nodes[node]
        piece = origin == "event" and events[made][0] in ("next", "subscript", "unpack")
        is_text = type(seen) in (str, bytes) and piece
        return type(seen) is float or (is_text and not is_known(made))

    def is_known(made: int) -> bool:
        """Whether that piece is one of constants, the same in each call."""
        return bool(events[made][0] == "next") and holds_constants(recording, events[made][2][0])

    first, end = turns.first_event(0), turns.event_behind(0)
    return any(asks_value(each) and is_computed(each[2][0]) for each in events[first:end])


def asks_value(event: tuple[Any, ...]) -> bool:
    """Whether it is a branch on the truth of something, and not on whether that is None."""
    return bool(event[0] == "branch" and event[1] != "none")


def writes_many_parts(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether the turns write more parts of one large array than one graph keeps apart."""
    events, nodes = recording["events"], recording["nodes"]
    written = Counter(
        id(nodes[operands[0]][4])
        for kind, _, operands, *_ in events[turns.enter : turns.out]
        if kind == "store_subscript" and getattr(nodes[operands[0]][4], "nbytes", 0) >= LARGE_BYTES
    )
    return max(written.values(), default=0) > MOST_UPDATES


def goes_through_settled(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether its items are objects that mostly stay as they are: the layers of a module.

    Each turn is about another one then, and there are as many in each call.
    """
    if not turns.is_for or not turns.count:
        return False
    item = recording["nodes"][recording["events"][turns.headers[0] + 1][4]][4]
    return any(is_settled(type(each)) for each in (item if type(item) is tuple else (item,)))


def goes_through_text(recording: dict[str, Any], turns: RecordedLoop) -> bool:
    """Whether the items are those of a text, which is another one in each call, mostly."""
    if not turns.is_for:
        return False
    iterator = recording["events"][turns.headers[0] + 1][2][0]
    return type(recording["nodes"][iterator][4]) in TEXT_ITERATORS


def variables_at(event: tuple[Any, ...]) -> Iterator[tuple[str, int, int]]:
    """Of a header, or behind a loop: each variable with its node before and its new one."""
    operands, keywords = event[2], event[3]
    half = len(keywords)
    return zip(keywords, operands[1 : 1 + half], operands[1 + half :], strict=True)


def changed_lists(recording: dict[str, Any], turns: RecordedLoop) -> set[str]:
    """The variables that are lists which do not hold throughout what they held at first sight."""
    events, nodes = recording["events"], recording["nodes"]
    marks = [events[number] for number in (*turns.headers, turns.out)]
    return {
        name
        for mark in marks
        for name, _, node in variables_at(mark)
        if issubclass(type(nodes[node][4]), list) and nodes[node][5] is None
    }


def turn_recording(recording: dict[str, Any], turns: RecordedLoop, turn: int) -> dict[str, Any]:
    """The turn as the recording of a function of the loop's variables and the item.

    It returns NEXT, or the place where the frame went on, and the variables that matter there.
    Numbers of events stay what they are, for nodes refer to them.

    Raises:
        NotCapturable: where it uses a value that is no variable of the loop.
    """
    loop, events = turns.loop, recording["events"]
    nodes = list(recording["nodes"])
    begin, end = turns.first_event(turn), turns.event_behind(turn)
    given: list[int] = []
    snapshots = dict(recording["snapshots"])
    if turns.changed is None:
        turns.changed = changed_lists(recording, turns)
    changed = turns.changed

    def check(outside: int) -> None:
        if outside >= 0:
            raise refuse(reasons.LOOP_OUTSIDE, classes.name_of(type(nodes[outside][4])))

    def argument(node: int, place: int) -> None:
        _, _, _, _, seen, snapshot = nodes[node]
        nodes[node] = ("argument", place, "", None, seen, snapshot)
        given.append(node)
        for name in loop.variables[place : place + 1]:  # and not the item
            if name in changed:
                snapshots[id(seen)] = Unknown(called(name))

    for name, _, node in variables_at(events[turns.headers[turn]]):
        if name in loop.variables:
            argument(node, loop.variables.index(name))
    if turns.is_for:
        kind, _, _, _, item, _, followed = events[begin - 1]
        if kind != "next" or followed or item < 0:
            raise refuse(reasons.LOOP_OVER, "what is followed")
        argument(item, len(loop.variables))
    uses = _dvm.TurnNodes(nodes, events, begin, end, given)
    check(uses.outside)

    def constant(value: Any) -> int:
        nodes.append(("constant", 0, "", None, value, None))
        return len(nodes) - 1

    after = events[end]
    values = {name: node for name, node, _ in variables_at(after)}
    for name, _, node in variables_at(events[turns.headers[turn]]):
        last = values.get(name, -1)
        if name in loop.variables and name not in loop.stored and uses.first(last) != node:
            raise refuse(reasons.LOOP_VARIABLE, name, "set by a function within")
    goes_on = NEXT if end != turns.out else turns.goes_on
    names: tuple[str, ...] = loop.carried if goes_on == NEXT else loop.outliving(goes_on)
    if RETURNED in values:
        names = (*names, RETURNED)
    for name in names:
        if name in values and not uses.is_inside(values[name]):
            check(values[name])
    before, behind = _events_of_held(nodes, turns, turn, events)
    values.update((each.name, event[4]) for each, event in zip(turns.held, behind, strict=True))
    parts = [constant(goes_on)]
    for name in names:
        parts.append(values[name] if name in values else constant(_dvm.MISSING))
    made: tuple[Any, ...] = ("tuple", "", parts, [], len(nodes), after[5], False)
    number = end + len(behind)
    nodes.append(("event", number, "", None, tuple(nodes[part][4] for part in parts), None))
    blank = [BLANK] * (begin - len(before))
    return {
        **cut_out(recording, begin, end),
        "nodes": nodes,
        "events": [*blank, *before, *events[begin:end], *behind, made],
        "begin": begin - len(before),
        "held": [pair for event in before for pair in zip(event[2][::2], event[3], strict=True)],
        "variables": len(loop.variables),
        "snapshots": snapshots,
        "result": len(nodes) - 1,
    }


def _events_of_held(
    nodes: list[Any], turns: RecordedLoop, turn: int, events: list[Any]
) -> tuple[list[Any], list[Any]]:
    """The event that sets attributes which are variables before a turn, and those that read them.

    Before the first turn of a recording there is room for one, where its header was.
    """
    header, end = events[turns.headers[turn]], turns.event_behind(turn)
    given = {name: node for name, _, node in variables_at(header)}
    left = {name: node for name, node, _ in variables_at(events[end])}
    set_first: list[int] = []
    behind: list[Any] = []
    for each in turns.held:
        base = given[each.variable]
        set_first += [base, given[each.name]]
        read = ("event", end + len(behind), "", None, nodes[left[each.name]][4], None)
        behind.append(("attribute", each.attribute, [base], [], len(nodes), header[5], False))
        nodes.append(read)
    names = [each.attribute for each in turns.held]
    before = ("store_attributes", "", set_first, names, -1, header[5], False)
    return [before] if names else [], behind


def shape_of(
    recording: dict[str, Any],
    turns: RecordedLoop,
    turn: int,
    is_rolled: Callable[[RecordedLoop], bool],
    called: dict[int, int],
) -> set[int]:
    """Numbers that are equal for turns which did the same with values of the same kinds.

    Of a rolled loop within, what its turns did has numbers of its own, whatever their order.
    called: of activations that are steps, their first and their last events.
    """
    events, nodes = recording["events"], recording["nodes"]
    begin, end = turns.first_event(turn), turns.event_behind(turn)
    ends = end == turns.out and turn + 1 == turns.count and turns.goes_on
    if turns.inner is None:
        turns.inner = loops_within(recording, turns.enter + 1, turns.out)
    rolled = {
        each.enter: each.loop.variables
        for each in turns.inner
        if begin <= each.enter and each.out < end and is_rolled(each)
    }
    own, within = _dvm.shape_of_turn(nodes, events, begin, end, rolled, called)
    return {hash((ends, own)), *within}
