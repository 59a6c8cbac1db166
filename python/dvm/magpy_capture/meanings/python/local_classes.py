"""Classes that the program defines while it runs: `class P: ...` in a function.

Each call makes another class, which nobody can tell from the last one as long as it stays within
the call. So the class of the recorded call serves all calls of the path: it is kept, its methods
are followed, and nothing about it is guarded. The path lets out neither it nor an object of it.

That holds of a body that gives the same on every call (meanings/python/class_bodies.py).
"""

from __future__ import annotations

import builtins
import types
from typing import Any, cast

from dvm import classes, reasons
from dvm.classes import is_mutable_class, mro_of, names_in
from dvm.magpy_capture.meanings.python.class_bodies import ClassBody
from dvm.magpy_capture.meanings.python.layer import PythonPart
from dvm.magpy_capture.path.spec import refuse
from dvm.magpy_capture.registry import means
from dvm.magpy_capture.values import Abstract, Closure, Literal, resolve
from dvm.magpy_capture.values.kinds import MISSING, is_constant
from dvm.magpy_capture.values.tables import PROCESS_DATACLASS

#: What object does where a class is derived.
NO_HOOK = vars(object)["__init_subclass__"]
ACCESSORS = ("__func__", "fget", "fset", "fdel")


class LocalClasses(PythonPart):
    """What `class` within a function means."""

    needs = "instances operators program"

    @means(builtins.__build_class__)
    def defined(
        self, body: Abstract, name: Abstract, *bases: Abstract, seen: Any, **named: Abstract
    ) -> Any:
        """`class name(base): body`, a class of no other kind than `type`."""
        function, cls = resolve(body), cast(Any, seen)
        if not isinstance(function, Closure) or type(cls) is not type or len(bases) > 1 or named:
            raise refuse(reasons.CLASS_DEFINITION)
        for base in map(resolve, bases):
            if not isinstance(base, Literal) or base.object is not cls.__base__:
                raise refuse(reasons.CLASS_DEFINITION)
            self._check_base(cls.__base__)
        names = ClassBody(function.object, self._global, self._attribute).run()
        self._adopt(cls, {name: names_in(cls)[name] for name in names & names_in(cls).keys()})
        return Literal(cls)

    @means(PROCESS_DATACLASS)
    def dataclass(self, cls: Abstract, *options: Abstract, seen: Any) -> Abstract:
        """What `@dataclass` does: it adds methods, whose code it writes, to a class of the call."""
        local = resolve(cls)
        constant = all(isinstance(resolve(option), Literal) for option in options)
        if (
            not isinstance(local, Literal)
            or not self.program.is_local(local.object)
            or not constant
        ):
            raise refuse(reasons.CALL, "dataclass")
        if seen is not local.object:  # with slots=True another class is made
            raise refuse(reasons.CALL, "dataclass")
        written = {
            name: value
            for name, value in names_in(local.object).items()
            if isinstance(value, types.FunctionType) and not self.program.is_local(value)
        }
        self._adopt(local.object, written)
        for value in written.values():
            for cell in value.__closure__ or ():
                self.program.make_local(cell, local.object.__name__)
        return local

    def _check_base(self, base: type) -> None:
        """A class of Python, through and through, which does nothing where one is derived."""
        hook = next(
            names_in(owner)["__init_subclass__"]
            for owner in mro_of(base)
            if "__init_subclass__" in names_in(owner)
        )
        if type(base) is not type or hook is not NO_HOOK:
            raise refuse(reasons.CLASS_DEFINITION)
        if not all(owner is object or is_mutable_class(owner) for owner in mro_of(base)):
            raise refuse(reasons.CLASS_DEFINITION)
        self.instances.guard_bases(base)
        self.instances.guard_class(base, "__init_subclass__", NO_HOOK)

    def _adopt(self, cls: type, made: dict[str, Any]) -> None:
        """Nobody but the recorded call has the class, and what was made for it."""
        parts = [cls, *made.values()]
        parts += [getattr(part, name, None) for part in parts[1:] for name in ACCESSORS]
        for part in parts:
            if part is not None:
                self.program.make_local(part, classes.name_of(cls))
            if isinstance(part, types.FunctionType):
                for name, cell in zip(
                    part.__code__.co_freevars, part.__closure__ or (), strict=True
                ):
                    if name == "__class__":
                        self.program.make_local(cell, classes.name_of(cls))

    # ---- what a body reads

    def _global(self, function: types.FunctionType, name: str) -> Any:
        scope = function.__globals__
        if name not in scope:
            self.program.guard_name(scope, name, MISSING)
            scope = cast(Any, function).__builtins__
        found = scope.get(name, MISSING)
        if not is_constant(found) and not isinstance(found, types.ModuleType):
            raise refuse(reasons.CLASS_DEFINITION)
        self.program.guard_name(scope, name, found)
        return found

    def _attribute(self, owner: Any, name: str) -> Any:
        found = vars(owner).get(name) if isinstance(owner, types.ModuleType) else None
        if found is None or not is_constant(found):
            raise refuse(reasons.CLASS_DEFINITION)
        self.operators.attribute(Literal(owner), name, found)
        return found


__all__ = ["LocalClasses"]
