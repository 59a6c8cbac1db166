"""The node tests of the onnx package, and which of them dvm does not pass, by reason."""

from __future__ import annotations

import fnmatch
import functools
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import onnx

import dvm.onnx

#: names, maybe with wildcards, of tests that fail, by reason
NOT_YET: dict[str, str] = {
    "element types that the Graph has not: strings": """
        test_equal_string* test_string_* test_strnormalizer_* test_regex_* test_ai_onnx_ml_label_*
    """,
    "element types that the Graph has not: floats of 8 and 4 bits, integers of 4 and 2": """
        test_cast*FLOAT8E* test_cast*FLOAT4E* test_cast*INT4* test_cast*INT2*
        test_dequantizelinear_e* test_dequantizelinear_*int4 test_dequantizelinear_*int2
        test_dequantizelinear_float4e2m1 test_quantizelinear_e* test_quantizelinear_*int4
        test_quantizelinear_*int2 test_quantizelinear_float4e2m1
    """,
    "one unit of half precision: the expected values are rounded at other places": """
        test_attention_4d_causal_bf16* test_attention_4d_causal_fp16*
        test_attention_4d_padded_kv_bf16* test_attention_4d_causal_padded_kv_bf16*
        test_attention_4d_attn_mask_causal_bf16* test_attention_3d_causal_bf16*
    """,
    "random numbers": "test_bernoulli* test_training_dropout_default* test_training_dropout "
    "test_training_dropout_mask",
    "the size of a row of a loop depends on the turn": "test_loop11",
    "no operator of tensors: images, words, trees, training": """
        test_image_decoder_* test_tfidfvectorizer_* test_ai_onnx_ml_tree_* test_momentum*
        test_nesterov_momentum test_adagrad* test_adam* test_ai_onnx_ml_array_* test_ai_onnx_ml_bin*
    """,
    "the expected values are 0 but for roundings of float32": "test_dft_inverse*",
    "no row yet": """
        test_melweightmatrix test_basic_deform_conv_* test_deform_conv_* test_roialign_*
    """,
}


@functools.cache
def cases() -> tuple[Any, ...]:
    """Return all node tests; that takes some seconds."""
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tuple(load_model_tests(kind="node"))


def not_yet(names: Iterable[str]) -> set[str]:
    patterns = " ".join(NOT_YET.values()).split()
    return {name for name in names if any(fnmatch.fnmatch(name, p) for p in patterns)}


def unused_patterns(names: Iterable[str]) -> list[str]:
    every = list(names)
    patterns = " ".join(NOT_YET.values()).split()
    return [p for p in patterns if not fnmatch.filter(every, p)]


def value_of(given: Any) -> Any:
    if isinstance(given, onnx.TensorProto):
        return onnx.numpy_helper.to_array(given)
    if isinstance(given, onnx.SequenceProto):
        return onnx.numpy_helper.to_list(given)
    return given


def with_any_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return a model that says no sizes of its inputs, only their ranks."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    del made.graph.value_info[:]
    for value in made.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    return made


def difference(case: Any, model: onnx.ModelProto) -> str:
    """Return in what dvm's results differ from those of a test; '' where they do not."""
    try:
        loaded = dvm.onnx.load(model)
        for inputs, wanted in case.data_sets:
            given = [value_of(x) for x in inputs]
            compare(loaded(*given), [value_of(x) for x in wanted], case.rtol, case.atol)
    except (AssertionError, dvm.errors.Error) as error:
        return str(error) or type(error).__name__
    return ""


def compare(made: Any, wanted: Any, rtol: float, atol: float) -> None:
    if wanted is None:
        assert made is None
        return
    if isinstance(wanted, list | tuple):
        assert len(made) == len(wanted)
        for one, other in zip(made, wanted, strict=True):
            compare(one, other, rtol, atol)
        return
    wanted = np.asarray(wanted)
    assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype)
    if wanted.dtype.kind not in "biuf":
        made, wanted = made.astype(np.float32), wanted.astype(np.float32)
    np.testing.assert_allclose(made, wanted, rtol, atol)
