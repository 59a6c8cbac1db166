"""Rolls loops: where a path comes to one, all its turns become one step.

Each turn is lowered like a call of a function of the loop's variables, so that what a turn may meet
(sizes, dtypes, branches, loops within) is what calls may meet: a path, or another one. The step
`loop` replays the turns (cpp/capture/replay/loop.h). What it left behind is found like the result
of a call that dvm does not know: by guards on what the variables are.

A loop that is short stays unrolled until it is met with another count, for the steps of its turns
fuse, unless they branch on what they computed. One that cannot be rolled stays so, with a reason.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from dvm import _dvm, reasons
from dvm.magpy_capture.loops.branching import branches_on_data, ways_shown
from dvm.magpy_capture.loops.held import check_steps, hold_all
from dvm.magpy_capture.loops.histories import (
    PLAIN,
    Entry,
    Given,
    LoopHistories,
    Rolled,
    is_of_sizes,
)
from dvm.magpy_capture.loops.layer import LoopPart
from dvm.magpy_capture.loops.parts import lower_part
from dvm.magpy_capture.loops.recorded_loops import (
    RETURNED,
    RecordedLoop,
    all_turns,
    branches_on_values,
    goes_through_settled,
    goes_through_text,
    is_of_constants,
    iterator_of,
    shape_of,
    turn_recording,
    variables_at,
    writes_many_parts,
)
from dvm.magpy_capture.path.loop_policy import LoopPolicy
from dvm.magpy_capture.path.program import describe
from dvm.magpy_capture.path.spec import NotCapturable, refuse
from dvm.magpy_capture.recording.findings import Findings
from dvm.magpy_capture.values import (
    Abstract,
    Host,
    IteratorValue,
    ListValue,
    Literal,
    RangeValue,
    Sequence,
    Tensor,
    Unread,
    resolve,
)
from dvm.magpy_capture.values.kinds import is_number

#: Events, or turns, of a loop that is rolled at once, whatever its count: to lower them all would
#: take longer than the few that differ.
MANY_EVENTS, MANY_TURNS = 500, 32
#: Turns that one recording is asked for, and ways that a turn may go in all.
MOST_TURNS, MOST_WAYS = 4, 16


class Loops(LoopPart, LoopPolicy):
    """Chooses the loops that are rolled, and lowers them."""

    needs = (
        "arrays callbacks graph held ledger left_behind lent loop_lists memory opaque "
        "program record recorded values_handed written_beside"
    )

    def __init__(
        self,
        recording: dict[str, Any],
        function: Any,
        found: Findings,
        known: LoopHistories,
        lower: Callable[..., None],
    ) -> None:
        self._lower = lower  # what is within a loop
        self.recording = recording
        self.function = function
        self.known = known
        self.found = found
        self.given_up: set[int] = set()  # first events of loops that turned out not to roll
        self._chosen: dict[int, RecordedLoop] = {}  # by the first event
        self._rolled: list[RecordedLoop] = []
        self._iterators: set[int] = set()  # nodes of what they iterate over
        self._short: dict[int, RecordedLoop] = {}  # by that node, those which are not wanted so far
        self._of_sizes: set[int] = set()  # first events of those of which sizes tell the count
        self._is_turn = "begin" in recording  # the recording is one of another loop
        self.rolled_events = 0  # that are not lowered one by one
        self._open: list[tuple[str, int]] = []  # loops whose end was not met: where, steps before
        self._choose(found.unrolled)

    @property
    def steps_before(self) -> int | None:
        """How many steps there were before the outermost loop that is lowered now."""
        return self._open[0][1] if self._open else None

    def _choose(self, unrolled: set[int]) -> None:
        events = self.recording["events"]
        if "loops" not in self.recording:  # else it is a turn of another one
            begin = self.recording.get("begin", 0)
            self.recording["loops"] = all_turns(self.recording, self.function, begin)
            hold_all(self.recording)
        for turns in self.recording["loops"]:
            self.known.meet(turns, events[turns.enter][5]).counts.add(turns.count)
        self._choose_among(self.recording["loops"], unrolled)

    def _choose_among(self, loops: list[RecordedLoop], unrolled: set[int]) -> None:
        """The outermost that are wanted; in the order in which they begin."""
        end = 0
        for turns in loops:
            if turns.enter < end or turns.enter in unrolled or not self._may_roll(turns):
                continue
            if not self._is_wanted(turns):
                if turns.is_for:
                    self._short[iterator_of(self.recording, turns)] = turns
                continue
            end = turns.out
            self._take(turns)

    def _take(self, turns: RecordedLoop) -> None:
        self._chosen[turns.enter] = turns
        self.rolled_events += turns.out - turns.enter
        if turns.is_for:
            self._iterators.add(iterator_of(self.recording, turns))

    def _may_roll(self, turns: RecordedLoop) -> bool:
        known = self.known[turns.key]
        return known.reason is None and not goes_through_settled(self.recording, turns)

    def _is_wanted(self, turns: RecordedLoop) -> bool:
        known = self.known[turns.key]
        if known.rolled is not None and not _dvm.loop_is_steady(known.rolled.loop):
            return True
        is_long = turns.out - turns.enter > MANY_EVENTS or turns.count > MANY_TURNS
        varies = is_long or bool(turns.jumps) or len(known.counts) > 1
        if self._is_turn:  # what it depends on will change
            varies = varies or not is_of_constants(self.recording, turns)
        varies = varies or self._branches(turns)
        varies = varies or goes_through_text(self.recording, turns)
        varies = varies or writes_many_parts(self.recording, turns)
        return turns.count > 0 and varies

    def _branches(self, turns: RecordedLoop) -> bool:
        """Whether turns go their ways for what was computed: then each count is many paths."""
        recording = self.recording
        return branches_on_values(recording, turns) or branches_on_data(recording, turns)

    # ---- events

    def on_header(self, name: str, operands: list[int], keywords: list[str], *_: Any) -> None:
        how, first, _last, *behind = name.split()
        if how == "enter":
            self._open.append((first, len(self.program.steps)))
        number = self.callbacks.number - 1
        turns = self._chosen.get(number)
        if how == "enter":
            self.check_hopes(number)
        if behind:  # turn by turn, what was not recorded would be missing
            raise refuse(reasons.LONG_CALL, len(self.recording["events"]))
        if turns is None or self._is_declined(turns):
            self._pass_on(operands, keywords)
            return
        try:
            self._step(turns)
        except NotCapturable as refusal:
            self.give_up(turns, refusal)
            raise
        self._rolled.append(turns)
        self.callbacks.number = turns.out + 1

    def _is_declined(self, turns: RecordedLoop) -> bool:
        """Whether it is not rolled after all, which nothing that was lowered depends on yet."""
        try:
            self._check(turns)
            self._lower_bodies(turns)
            return False
        except NotCapturable as refusal:
            if self._waits_for_told:
                raise
            self._note(turns, refusal)
            if not self._has_whole_iterator(turns):
                self.given_up.add(turns.enter)
                raise
        self.check_hopes(turns.enter)
        del self._chosen[turns.enter]
        self.rolled_events -= turns.out - turns.enter
        within = [each for each in self.recording["loops"] if turns.enter < each.enter < turns.out]
        self._choose_among(within, self.found.unrolled)
        return True

    def _has_whole_iterator(self, turns: RecordedLoop) -> bool:
        """Whether it goes over what a loop that is not rolled would (FlowEvents.on_iter)."""
        if not turns.is_for or turns.exhausted:
            return True
        events, nodes = self.recording["events"], self.recording["nodes"]
        origin, number, *_ = nodes[events[turns.headers[0] + 1][2][0]]
        if origin != "event":
            return False
        base = self.recorded.values.get(events[number][2][0])
        return base is not None and not isinstance(resolve(base), RangeValue)

    def check_hopes(self, enter: int | None = None) -> None:
        """A loop that each call goes through in a new way ends the path: the one there, or any.

        Turn by turn it would be a path that no other call takes, made in seconds.
        """
        for turns in self.recording["loops"]:
            known = self.known[turns.key]
            here = enter is None or turns.enter == enter
            if here and known.ends_paths and known.reason is not None:
                raise NotCapturable(known.reason, known.at)

    def on_out(self, name: str, operands: list[int], keywords: list[str], *_: Any) -> None:
        if self._open and self._open[-1][0] == name.split()[0]:
            self._open.pop()
        self._pass_on(operands, keywords)

    def _pass_on(self, operands: list[int], keywords: list[str]) -> None:
        """The variables of a loop that is not rolled are what they were."""
        values = self.recorded.values
        half = len(keywords)
        for old, new in zip(operands[1 : 1 + half], operands[1 + half :], strict=True):
            if old in values:
                values[new] = values[old]
            else:
                read = functools.partial(self.recorded.value, old)
                values[new] = Unread(read, self.record.seen(old))

    def is_rolled_over(self, iterator: int, base: Abstract) -> bool:
        """Whether a loop over that iterator is rolled: nothing is pulled from it.

        One that has as many turns as an array of the call has elements has others in other calls,
        until so many had as many that they will be.
        """
        turns = self._short.pop(iterator, None)
        is_new = turns is not None and self.known[turns.key].rolled is None
        if turns is not None and is_new and is_of_sizes(base) and self._repeats(turns):
            self._of_sizes.add(turns.enter)
            for within in [each for each in self._chosen if turns.enter < each < turns.out]:
                inner = self._chosen.pop(within)
                self.rolled_events -= inner.out - inner.enter
            self._take(turns)
        return iterator in self._iterators

    def _repeats(self, turns: RecordedLoop) -> bool:
        """Whether two of its turns did the same."""
        met: set[int] = set()
        for turn in range(turns.count):
            shapes = self._shapes_of(turns, turn)
            if shapes <= met:
                return True
            met |= shapes
        return False

    def need(self, number: int) -> None:
        """What an event made is wanted: where that lies within a rolled loop, it cannot be."""
        for turns in self._rolled:
            if turns.enter <= number < turns.out:
                self.give_up(turns, refuse(reasons.LOOP_OUTSIDE, "its turns behind it"))

    # ---- the bodies

    def _lower_bodies(self, turns: RecordedLoop) -> None:
        known, loop = self.known[turns.key], turns.loop
        rolled = known.rolled
        if rolled is None:
            carried = [loop.variables.index(name) for name in loop.carried]
            places = [loop.variables.index(name) for name in self._at_end(turns)]
            native = _dvm.new_loop(len(loop.variables), carried, places, loop.exhausted)
            rolled = Rolled(native)
            if turns.enter in self._of_sizes:
                _dvm.watch_count(native)
        self._lower_turns(turns, rolled)
        known.rolled = rolled

    @staticmethod
    def _at_end(turns: RecordedLoop) -> list[str]:
        return list(turns.loop.outliving(turns.loop.exhausted)) if turns.is_for else []

    def _check(self, turns: RecordedLoop) -> None:
        """What a turn is given must be all that the program has done so far, and it all of a turn.

        Before any of it is lowered.
        """
        outer = set(turns.code.co_freevars) & set(turns.loop.variables) - turns.closed_over
        if turns.function is not self.function and outer:
            raise refuse(reasons.LOOP_VARIABLE, min(outer), "one of a function around it")
        if not self.graph.leaves_modes:
            raise refuse(reasons.LOOP_STATE, "np.errstate")
        if self.ledger.stores:
            raise refuse(reasons.LOOP_STATE, "a global or a closure")
        if self.known[turns.key].rolled is not None:
            return
        for name in self._at_end(turns):
            if name not in turns.loop.variables:
                raise refuse(reasons.LOOP_VARIABLE, name, "set by no turn")
        if turns.count > MOST_WAYS and ways_shown(self.recording, turns, self._called) > MOST_WAYS:
            raise refuse(reasons.LOOP_WAYS, MOST_WAYS)

    def _lower_turns(self, turns: RecordedLoop, rolled: Rolled) -> None:
        """Lower those that no path is known for; at most some, the others may do the same."""
        missed = _dvm.loop_state(rolled.loop)["missed_turn"]
        before, ways = rolled.body.state(), self._ways()
        try:
            lowered = self._lower_some(turns, rolled, missed)
        finally:  # some may have been added
            if rolled.body.state() != before:
                self.known.changed(rolled)
        # A turn that was missed, and does what another one did, will be missed again. Of a loop
        # within another one that says nothing: it was missed in one turn of that.
        stuck = not self._is_turn and missed >= 0 and lowered > 0 and self._ways() == ways
        if stuck or rolled.ways > MOST_WAYS:
            self.known.changed(rolled)
            raise refuse(reasons.LOOP_STUCK) if stuck else refuse(reasons.LOOP_WAYS, MOST_WAYS)

    def _lower_some(self, turns: RecordedLoop, rolled: Rolled, missed: int) -> int:
        """How many were lowered: the one that was missed, the last, and those of new shapes.

        Few of them, unless each brings something new: another way is another capture later. Where
        turns go their ways for the value of a number, equal shapes are not enough, until one of
        them brought nothing new. Of a loop within another one, the last is lowered once.
        """
        last = turns.count - 1
        missed = turns.place_of(missed) if missed >= 0 else missed
        wanted = {missed, last} if rolled.recording != self.known.recordings else {missed}
        rolled.recording = self.known.recordings
        lowered, brings = 0, True
        for turn in dict.fromkeys([missed, last, *range(turns.count)]):
            pins = rolled.body.pins
            most = MOST_WAYS if pins or brings else MOST_TURNS - 1
            if not 0 <= turn <= last or not turns.is_recorded(turn) or lowered > most:
                continue
            is_new = turn in wanted or not self._shapes_of(turns, turn) <= rolled.shapes
            if not is_new and not (pins and brings):
                continue
            before = rolled.state()
            self._lower_turn(turns, turn, rolled)
            rolled.shapes |= self._shapes_of(turns, turn)  # by which loops within are rolled now
            lowered, brings = lowered + 1, rolled.state() != before
        return lowered

    def _shapes_of(self, turns: RecordedLoop, turn: int) -> set[int]:
        is_rolled = lambda loop: self.known[loop.key].rolled is not None  # noqa: E731
        return shape_of(self.recording, turns, turn, is_rolled, self._called)

    @property
    def _called(self) -> dict[int, int]:
        """Activations of recursive functions that are steps: their first and their last events."""
        known = self.known.recursions
        recorded = self.recording["activations"]
        return {each.enter: each.leave for each in recorded if known[each.key].is_wanted}

    def _ways(self) -> int:
        """How many ways turns of all loops go, so far."""
        return sum(known.ways for known in self.known.values())

    def _lower_turn(self, turns: RecordedLoop, turn: int, rolled: Rolled) -> None:
        loop = turns.loop
        carried = [loop.variables.index(name) for name in loop.carried]
        spec = lower_part(
            self._lower,
            self.program,
            turn_recording(self.recording, turns, turn),
            turns.function,
            self.known,
            self.found,
            self._varying(turns),
        )
        check_steps(turns, spec.steps)
        rolled.body.take(spec.steps, carried, len(loop.variables), self.known.bodies())
        if not _dvm.add_way(rolled.loop, spec):
            raise refuse(reasons.LOOP_EFFECT, "cannot be compiled")
        rolled.recorded |= spec.recorded

    def _varying(self, turns: RecordedLoop) -> set[int]:
        """Where a text may be another one in each turn or call: among variables, or the item."""
        loop = turns.loop
        places = {loop.variables.index(name) for name in loop.carried} | {len(loop.variables)}
        for name, node, _ in variables_at(self.recording["events"][turns.enter]):
            is_text = type(self.record.seen(node)) in (str, bytes) and name in loop.variables
            if is_text and isinstance(resolve(self.recorded.value(node)), Host):
                places.add(loop.variables.index(name))
        return places

    # ---- the step

    def _step(self, turns: RecordedLoop) -> None:
        rolled = self.known[turns.key].rolled
        assert rolled is not None  # its bodies are lowered
        loop, events = turns.loop, self.recording["events"]
        private = rolled.body.private(len(loop.variables))
        nodes = {name: node for name, node, _ in variables_at(events[turns.enter])}
        self.held.read(turns, nodes)
        values: list[Any] = [
            self.recorded.value(nodes[name]) if name in nodes else Literal(_dvm.MISSING)
            for name in loop.variables
        ]
        source = None
        if turns.is_for:
            iterator = self.recorded.value(events[turns.headers[0] + 1][2][0])
            if not isinstance(iterator, IteratorValue) or iterator.source is None:
                raise refuse(reasons.LOOP_OVER, describe(iterator))
            source = iterator
        apart = self.held.apart(turns, nodes, values)
        entry = Entry(turns, rolled.body, values, private, source, apart)
        self.written_beside.check(entry)
        self._check_written(entry)
        lent = {
            place
            for place in private
            if turns.enter not in self.found.copied and self.lent.may_lend(values[place])
        }
        self._check_counted(entry, lent)
        given: list[Given] = []
        registers = []
        filled = self.loop_lists.enter(entry)
        for place, value in enumerate(values):
            if id(value) in filled:  # under whatever name
                registers.append(filled[id(value)])
                continue
            if place in lent:
                self.memory.may_write(value)
                register = value.storage.register
            elif id(value) in apart:
                register = value.register
            else:
                register = self.values_handed.register(
                    loop.variables[place], value, place in private, given
                )
            registers.append(register)
            if isinstance(value, Tensor) and not value.is_scalar:
                given.append(Given(value, register, place in private))
        iterated = -1 if source is None else self._iterator(source, given, {})
        if lent:
            arrays = [values[place] for place in sorted(lent)]
            self.lent.lend(arrays, turns.enter, self._read_behind(turns, nodes))
        version = _dvm.loop_state(rolled.loop)["version"]
        self.program.kept.append(rolled.loop)
        made = self.program.step("loop", rolled.loop, iterated, registers, version)
        for place in lent:
            self.lent.take_back(values[place])
        for each in given:
            if each.private and not each.is_the_callers:
                self.opaque.take_over(each.value, each.register, counted=False)
                each.value.storage.counted_by.append(each.register)
        if any(each.private for each in given):
            self.program.forget_results()
        self.loop_lists.leave(entry, registers, filled)
        if source is not None:
            self._use_up(source, turns.enter)
        self._leave(turns, made, nodes, given)
        behind = {name: node for name, _, node in variables_at(events[turns.out])}
        self.held.put_back(turns, nodes, behind)

    def _check_written(self, entry: Entry) -> None:
        """What turns write into is an array, and no other variable is a view of it."""
        values = entry.values
        for place in entry.private:
            name, value = entry.variable(place)
            if isinstance(value, Tensor) and not value.is_scalar:
                for other in [*values[:place], *values[place + 1 :], *entry.bases]:
                    if isinstance(other, Tensor) and other.storage is value.storage:
                        raise refuse(reasons.LOOP_VIEW, name)
            elif isinstance(value, Host) and not is_number(value.object):
                # Its turns would write into the caller's own, before the path is known to hold.
                raise refuse(reasons.LOOP_VARIABLE, name, describe(value))
            elif not isinstance(value, PLAIN) and not isinstance(value, Tensor):
                raise refuse(reasons.LOOP_VARIABLE, name, describe(value))

    def _check_counted(self, entry: Entry, lent: set[int]) -> None:
        """No turn writes into a copy of what is the caller's, where each write is to be counted."""
        for place in set(entry.private) - lent:
            name, value = entry.variable(place)
            if isinstance(value, Tensor) and value.storage.external:
                if value.library.count_writes is not None:
                    raise refuse(reasons.LOOP_VIEW, name)

    def _iterator(self, value: Abstract, given: list[Given], made: dict[int, int]) -> int:
        """A new iterator, or what it iterates over. made: registers by the ids of iterators."""
        value = resolve(value)
        if isinstance(value, IteratorValue):
            if id(value) not in made:
                if value.source is None:
                    raise refuse(reasons.LOOP_OVER, describe(value))
                function, parts = value.source
                registers = [self._iterator(part, given, made) for part in parts]
                callee = self.program.constant(function)
                made[id(value)] = self.program.step("call", callee, registers, ())
            return made[id(value)]
        if isinstance(value, Tensor) and not value.is_scalar:
            register = self.arrays.tensor_register(value)
            given.append(Given(value, register, False))
            return register
        if isinstance(value, ListValue):
            register = value.untouched_register
            if register < 0 and not _has_long_integers(value):
                register = self.values_handed.list_to_read(value, given)
            if register < 0:
                raise refuse(reasons.LOOP_OVER, describe(value))
            return register
        if (register := self.written_beside.given(value)) >= 0:
            return register
        if isinstance(value, Sequence) and value.counted >= 0:
            return value.counted
        return self.program.register_of(value)

    def _use_up(self, value: Abstract, enter: int) -> None:
        """What is left of an iterator behind the loop is not known."""
        value = resolve(value)
        if not isinstance(value, IteratorValue):
            return

        def pull() -> Any:
            self.given_up.add(enter)
            raise refuse(reasons.LOOP_OVER, "an iterator that goes on behind it")

        for part in value.source[1] if value.source else ():
            self._use_up(part, enter)
        value.following, value.source = pull, None

    # ---- behind the loop

    def _read_behind(self, turns: RecordedLoop, nodes: dict[str, int]) -> list[Abstract]:
        """What the program has made that something behind the loop reads, as far as is known."""
        events, values = self.recording["events"], self.recorded.values
        read = {node for event in events[turns.out + 1 :] for node in event[2]}
        before = {
            nodes[name]
            for name, _, node in variables_at(events[turns.out])
            if node in read and name in nodes
        }
        known = [values[node] for node in read | before if node in values]
        return [value for value in known if not isinstance(value, Unread)]

    def _leave(
        self, turns: RecordedLoop, made: int, nodes: dict[str, int], given: list[Given]
    ) -> None:
        """The path is for calls that leave the loop where this one did."""
        for each in given:
            each.version = each.value.storage.version
        tag = self.program.item(made, 0)
        self.program.guard("guard_value", tag, turns.goes_on, key=(tag,))
        names = turns.loop.outliving(turns.goes_on)
        for name, _, node in variables_at(self.recording["events"][turns.out]):
            if name == RETURNED:
                place = len(names) + 1
            elif name in names:
                place = names.index(name) + 1
            elif name in nodes and name not in turns.loop.stored:
                self.recorded.values[node] = self.recorded.value(nodes[name])
                continue
            else:
                continue
            seen = self.record.seen(node)
            read = functools.partial(self._result, turns, name, made, place, seen, given)
            self.recorded.values[node] = Unread(read, seen)

    def _result(
        self, turns: RecordedLoop, name: str, made: int, place: int, seen: Any, given: list[Given]
    ) -> Abstract:
        """What a variable is behind the loop."""
        try:
            made_list = functools.partial(self.loop_lists.made_by_turn, turns, name)
            register = self.program.item(made, place)
            return self.left_behind.told(turns.enter, name, register, seen, given, made_list)
        except NotCapturable as refusal:
            self.give_up(turns, refusal)
            raise

    def give_up(self, turns: RecordedLoop, refusal: NotCapturable) -> None:
        """All is lowered again without rolling it."""
        if not self._waits_for_told:
            self._note(turns, refusal)
            self.given_up.add(turns.enter)

    @property
    def _waits_for_told(self) -> bool:
        """Whether what is refused is open behind another loop, which will not be again."""
        return bool(self.memory.wanted_told - self.found.told_apart)

    def _note(self, turns: RecordedLoop, refusal: NotCapturable) -> None:
        """Why it is not rolled: nor is it in recordings to come."""
        refusal.place(self.program.at)
        known = self.known[turns.key]
        known.reason, known.at = refusal.reason, refusal.at
        ways = refusal.reason.code in (reasons.LOOP_WAYS.code, reasons.LOOP_STUCK.code)
        differs = known.first < self.known.recordings  # it was rolled, and a later call missed
        if ways and (differs or self._branches(turns)):
            known.ends_paths = True
            self.known.hopeless[known.begin] = known

    def let_go(self) -> None:
        self.held.let_go()

    @property
    def has_rolled(self) -> bool:
        return bool(self._rolled)

    def give_up_all(self, refusal: NotCapturable) -> None:
        """Of those so far."""
        for turns in self._rolled:
            self.give_up(turns, refusal)


def _has_long_integers(value: ListValue) -> bool:
    """Whether there are some in it that no turn can compute with: one by one each may be known."""
    is_own = value.register < 0 and not value.is_open
    parts = map(resolve, value.elements) if is_own else []
    found = [getattr(part, "object", None) for part in parts]
    return any(type(each) is int and each.bit_length() > 63 for each in found)


__all__ = ["Loops"]
