"""The node tests of the onnx package, also with sizes that the model does not say."""

from onnx_door import node_cases
from whole import some


def test_the_tests_that_fail_are_those_that_are_listed() -> None:
    listed = node_cases.not_yet(case.name for case in node_cases.cases())
    wrong = []
    for case in node_cases.cases():
        why = node_cases.difference(case, case.model)
        if bool(why) != (case.name in listed):
            wrong.append(f"{case.name}: {why or 'passes, but is listed'}")
    assert not wrong, "\n".join(wrong)


def test_no_reason_is_left_over() -> None:
    assert not node_cases.unused_patterns(case.name for case in node_cases.cases())


def test_sizes_may_be_unknown() -> None:
    every = node_cases.cases()
    listed = node_cases.not_yet(case.name for case in every)
    tried = some([case for case in every if case.name not in listed], 400)
    wrong = {
        case.name: why
        for case in tried
        if (why := node_cases.difference(case, node_cases.with_any_sizes(case.model)))
    }
    assert not wrong, "\n".join(f"{name}: {why}" for name, why in wrong.items())
