"""Every error of the table is triggered by a test: here, or in a C++ test that is named here."""

import re
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

import dvm
from dvm import _dvm, errors
from dvm.passes import Pass

ROOT = Path(__file__).resolve().parents[2]
ROWS = {name: (code, cls, hint) for code, cls, name, hint in _dvm.error_table}

GRAPH = "graph v1 {{\n  %0 = input f32[s0]\n  %1 = input {}\n  {}\n  return %2\n}}\n"


def run_graph(second_input: str, node: str, name: str = "dead_code") -> str:
    return _dvm.run_pass(name, "", GRAPH.format(second_input, node))


def program() -> bytes:
    f = dvm.compile(lambda x: x + x, target="ascend910b3")
    text = f.inspect("bytecode", np.ones(64, np.float32))
    return _dvm.assemble(text[text.index("dvm.program") :])


def with_zero_word(index: int) -> bytes:
    damaged = bytearray(program())
    damaged[8 * index : 8 * index + 8] = bytes(8)
    return bytes(damaged)


def call_without_host() -> object:
    return _dvm.reference(
        'graph v1 { %0 = input f32[s0] %1 = call(%0) f32[s1] {callee = "f"} return %1 }',
        np.ones(3, np.float32),
    )


def call_that_would_be_captured() -> object:
    with dvm.stance("fail_on_recompile"):
        return dvm.compile(lambda x: x + 1)(np.ones(3))


def compile_on_another_python() -> object:
    with mock.patch.object(_dvm, "can_capture", False):
        return dvm.compile(lambda x: x + 1)


class _DropsResults(Pass):
    def run(self, graph: _dvm.Graph) -> _dvm.Graph:
        graph.outputs = []
        return graph


# row -> what triggers it through the package
HERE: dict[str, Callable[[], object]] = {
    "text_syntax": lambda: _dvm.run_pass("fuse", "", "graph v1 { what"),
    "text_version": lambda: _dvm.run_pass("fuse", "", "graph v9 {\n  return\n}\n"),
    "bytecode_header": lambda: _dvm.disassemble(with_zero_word(0)),
    "bytecode_truncated": lambda: _dvm.disassemble(program()[:-3]),
    "bytecode_invalid": lambda: _dvm.disassemble(with_zero_word(-1 % (len(program()) // 8))),
    "graph_invalid": lambda: run_graph("f32[s0]", "%2 = add(%0) f32[s0]"),
    "pass_failed": lambda: dvm.CompiledGraph(
        GRAPH.format("f32[s0]", "%2 = add(%0, %1) f32[s0]"), passes=[_DropsResults]
    ),
    "shape_mismatch": lambda: _dvm.reference(
        GRAPH.format("f32[s0]", "%2 = add(%0, %1) f32[s0]"),
        np.ones(3, np.float32),
        np.ones(4, np.float32),
    ),
    "wrong_arguments": lambda: dvm.CompiledGraph("graph v1 {\n  return\n}\n")(1),
    "shape_overflow": lambda: _dvm.Graph().input("f32", [2**61, 2**61]),
    "dtype_mismatch": lambda: _graph_builder_add("f32", "i32"),
    "unsupported": lambda: _dvm.run_pass("no_such_pass", "", "graph v1 {\n  return\n}\n"),
    "unknown_target": lambda: dvm.compile(lambda x: x, target="tpu"),
    "host_call": call_without_host,
    "host_result": lambda: dvm.CompiledGraph(
        'graph v1 { %0 = call f32[] {callee = "f"} return %0 }', functions={"f": lambda: "text"}
    )(),
    "unknown_name": lambda: dvm.set_stance("careful"),
    "recompile": call_that_would_be_captured,
    "bad_annotation": lambda: dvm.annotate(3, pure=True),
    "capture_refused": lambda: dvm.compile(lambda x: x).inspect("graph"),
    "other_cpython": compile_on_another_python,
}

# rows whose hint is what the place that raises them says: the reason's own advice, for one
HINTED_WHERE_RAISED = {"capture_refused", "bad_annotation"}

# row -> C++ test file that expects it by its enumerator
IN_CPP = {
    "file_header": "tests/cpp/driver/saved_graph_test.cpp",
    "file_version": "tests/cpp/driver/saved_graph_test.cpp",
    "file_damaged": "tests/cpp/driver/saved_graph_test.cpp",
    "plan_invalid": "tests/cpp/runtime/plan_verify_test.cpp",
    "sim_fault": "tests/cpp/targets/sim_fault_test.cpp",
    "internal": "tests/cpp/vm/round_trip_test.cpp",
}


def _graph_builder_add(first: str, second: str) -> int:
    graph = _dvm.Graph()
    size = graph.symbol("n")
    return graph.elementwise("add", [graph.input(first, [size]), graph.input(second, [size])])


def test_every_row_is_triggered_somewhere() -> None:
    assert HERE.keys() | IN_CPP.keys() == ROWS.keys()
    assert not HERE.keys() & IN_CPP.keys()


@pytest.mark.parametrize("row", HERE)
def test_error(row: str) -> None:
    code, class_name, hint = ROWS[row]
    with pytest.raises(dvm.Error) as caught:
        HERE[row]()
    error = caught.value
    assert (error.code, type(error).__name__) == (code, class_name)
    assert error.hint == hint or row in HINTED_WHERE_RAISED
    says = rf" Hint: {re.escape(error.hint)}\." if error.hint else ""
    assert re.fullmatch(rf"{code} .+[.?]{says}", str(error), re.DOTALL)
    assert type(error).__module__ == "dvm"
    assert getattr(dvm, class_name) is type(error)


@pytest.mark.parametrize(("row", "file"), IN_CPP.items())
def test_the_cpp_tests_expect_it(row: str, file: str) -> None:
    assert f"ErrorCode::{row}" in (ROOT / file).read_text("utf-8")


def test_codes_are_unique_and_classes_exported() -> None:
    codes = [code for code, _, _ in ROWS.values()]
    assert len(set(codes)) == len(codes)
    classes = {cls for _, cls, _ in ROWS.values()}
    assert {*classes, "Error"} == set(errors.__all__)
    for name in errors.__all__:
        assert issubclass(getattr(dvm, name), dvm.Error)
        assert name in dvm.__all__


def test_an_error_names_the_line_of_the_user_when_it_is_known() -> None:
    graph = _dvm.Graph()
    a = graph.input("f32", [graph.symbol("n")])
    b = graph.input("i32", [graph.symbol("n")])
    with pytest.raises(dvm.DtypeError) as caught:
        graph.elementwise("add", [a, b], at=("model.py", 7))
    assert caught.value.location == "model.py:7"
    assert "model.py:7: " in str(caught.value)
