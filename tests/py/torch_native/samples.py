"""How every function and method that means something is called, and with which operands.

A sample is the text of an expression whose names are operands (operands.py). `f` is the function
itself; of a method, its first operand has it.
"""

from __future__ import annotations

import ast
from typing import Any

import torch

import dvm.magpy_capture
from dvm.magpy_capture.registry import FUNCTIONS, METHODS

dvm.magpy_capture.look_around()


UNARY_TEXT = """
    abs absolute neg ceil floor trunc reciprocal sqrt exp exp2 expm1 log log2 log10 log1p sin
    cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf sigmoid rsqrt square round
    sign logical_not bitwise_not isnan isinf relu silu numel detach is_floating_point
    is_tensor dim contiguous float double half int long bool short char byte
    arccos arccosh arcsin arcsinh arctan arctanh deg2rad fix frac hardsigmoid hardswish isfinite
    isneginf isposinf isreal log_sigmoid mish negative rad2deg relu6 selu sgn sinc special_entr
    special_erf special_exp2 special_expit special_expm1 special_log1p special_ndtr special_sinc
"""
UNARY = UNARY_TEXT.split()
BINARY_TEXT = """
    mul multiply maximum minimum fmax fmin atan2 hypot logaddexp bitwise_and bitwise_or
    bitwise_xor logical_and logical_or logical_xor eq ne lt le gt ge remainder fmod
    true_divide floor_divide arctan2 copysign heaviside logaddexp2 nextafter xlogy float_power
    special_xlog1py special_xlogy
"""
BINARY = BINARY_TEXT.split()
NUMBERS_TOO_TEXT = """
    mul multiply eq ne lt le gt ge remainder fmod true_divide floor_divide greater greater_equal
    less less_equal not_equal copysign xlogy float_power special_xlog1py special_xlogy
"""
NUMBERS_TOO = NUMBERS_TOO_TEXT.split()
AXES = ("", "0", "-1", "(0, 1)", "1, True", "dim=0, keepdim=True", "(-1,), keepdim=True")
LOSSES = ("y", "y, 0", "y, 1", "y, 2", "x")
ONE_AXIS = ("", "0", "-1, True", "dim=1, keepdim=True")

#: weights of an attention of two heads and width 4: in, its bias, out, its bias
ATTENTION = "bias.repeat(3)[:, None] * bias / 8, bias.repeat(3), bias[:, None] * bias / 8, bias"
#: two norms and what is between them, behind an attention's
FORWARD = "bias, bias, bias, bias, bias[:, None] * bias / 8, bias, bias[:, None] * bias / 8, bias"

#: name -> what comes behind the first operand, for each sample
ARGUMENTS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(UNARY, ("",)),
    **dict.fromkeys(BINARY, ("y", "row", "column", "other", "scalar", "x")),
    **dict.fromkeys(
        NUMBERS_TOO, ("y", "row", "column", "other", "scalar", "2", "2.5", "number", "real", "True")
    ),
    **dict.fromkeys(
        ("add", "sub", "subtract"),
        (
            "y",
            "row",
            "column",
            "other",
            "2",
            "1.5",
            "number",
            "real",
            "y, alpha=2",
            "row, alpha=3",
            "scalar",
            "2, alpha=2",
        ),
    ),
    "rsub": ("y", "2", "1.5", "row"),
    **dict.fromkeys(
        ("div", "divide"),
        (
            "y",
            "row",
            "2",
            "2.5",
            "number",
            "other",
            "y, rounding_mode='floor'",
            "y, rounding_mode='trunc'",
            "3, rounding_mode='floor'",
            "-2, rounding_mode='trunc'",
        ),
    ),
    "pow": ("2", "3", "0.5", "y", "number", "real", "-1", "row", "0"),
    "where": ("row, y",),
    **dict.fromkeys(
        ("clamp", "clip"),
        ("0, 1", "min=1", "max=0.5", "-1", "y", "min=y, max=row", "None, 1", "2, 1", "number"),
    ),
    "masked_fill": ("mask, 2", "mask, 0.5", "mask_row, -1", "mask, scalar", "mask, real"),
    "gelu": ("", "approximate='tanh'"),
    **dict.fromkeys(("celu", "elu"), ("", "0.5", "alpha=2.0")),
    **dict.fromkeys(("hardshrink", "softshrink"), ("", "0.25")),
    "hardtanh": ("", "0, 6", "-0.5, 0.5", "min_val=-2.0"),
    "softplus": ("", "2", "1, 0.5", "beta=0.5, threshold=1"),
    "prelu": ("row[:1].abs()", "row", "row5", "y.new_full((1,), 0.5)"),
    "threshold": ("0.5, 2", "0, -1.0"),
    **dict.fromkeys(("logit", "special_logit"), ("", "0.25")),
    "nan_to_num": ("", "1.0", "nan=2.0, posinf=3.0", "0.0, 1.0, -1.0"),
    "isclose": ("y", "row", "y, 0.5", "x, equal_nan=True", "other"),
    "lerp": ("y, 0.25", "y, 0.75", "row, scalar", "y, column", "y, number", "x, real"),
    **dict.fromkeys(
        ("addcdiv", "addcmul"), ("y, row", "y, y, value=2", "row, column", "scalar, y, value=0.5")
    ),
    **dict.fromkeys(("mse_loss", "l1_loss", "soft_margin_loss"), LOSSES),
    "smooth_l1_loss": (*LOSSES, "y, 1, 0.5", "y, beta=2.0"),
    "huber_loss": (*LOSSES, "y, 1, 0.5", "y, delta=2.0"),
    "kl_div": (*LOSSES, "y.abs(), log_target=True", "row, 2"),
    "binary_cross_entropy_with_logits": (
        "y.sigmoid(), None, None, 1",
        "y.sigmoid(), row, None, 2",
        "y.sigmoid(), None, row, 0",
        "y.sigmoid(), reduction=1",
    ),
    "hinge_embedding_loss": ("y.sign(), 1.0, 0", "y.sign(), 0.5", "y.sign(), reduction=2"),
    "margin_ranking_loss": ("y, x.sign()", "y, y.sign(), 0.5, 0", "row, x.sign(), 0.5, 2"),
    "leaky_relu": ("", "0.2", "negative_slope=0.3"),
    **dict.fromkeys(("sum", "mean"), (*AXES, "dtype=torch.float64", "0, dtype=torch.float32")),
    **dict.fromkeys(("amax", "amin"), AXES),
    "prod": (
        "",
        "0",
        "-1, True",
        "dim=1, keepdim=True",
        "dtype=torch.float64",
        "0, dtype=torch.float32",
    ),
    "logsumexp": ("0", "-1, True", "(0, 1)", "dim=1, keepdim=True"),
    **dict.fromkeys(("any", "all"), AXES),
    **dict.fromkeys(("max", "min"), (*ONE_AXIS, "y", "row")),
    **dict.fromkeys(("argmax", "argmin"), ONE_AXIS),
    **dict.fromkeys(
        ("var", "std"), (*AXES, "False", "0, False", "0, correction=2", "unbiased=False")
    ),
    **dict.fromkeys(("softmax", "log_softmax"), ("0", "-1", "dim=1", "-1, dtype=torch.float64")),
    "norm": ("", "2", "1, 0", "2, -1, True", "float('inf'), 0", "dim=(0, 1)", "0, 1", "'fro'"),
    **dict.fromkeys(("cumsum", "cumprod"), ("0", "-1", "dim=1", "0, dtype=torch.float64")),
    "clone": ("", "memory_format=torch.contiguous_format"),
    "to": (
        "torch.float64",
        "torch.int64",
        "x.dtype",
        "'cpu'",
        "dtype=torch.float32",
        "torch.float32, copy=True",
        "other",
        "'cpu', torch.float16",
        "other, copy=True",
    ),
    "type": ("torch.float64", "torch.int32", ""),
    "reshape": ("-1", "x.shape[::-1]", "x.shape[1], -1", "-1, 1", "(1, *x.shape)"),
    "view": (
        "-1",
        "x.shape",
        "1, x.shape[0], x.shape[1]",
        "x.shape[0], -1",
        "torch.int16",
        "x.shape[0] * x.shape[1]",
    ),
    **dict.fromkeys(("view_as", "reshape_as"), ("y", "column_row")),
    "flatten": ("", "0", "1", "0, 1", "-2", "0, 0"),
    "unflatten": ("0, (1, -1)", "1, (-1, 1)", "-1, (x.shape[1], 1)"),
    "permute": ("(1, 0)", "(0, 1)", "(-1, 0)"),
    **dict.fromkeys(("transpose", "swapaxes"), ("0, 1", "-1, 0", "0, 0", "1, 1")),
    "t": ("",),
    "unsqueeze": ("0", "1", "-1", "2"),
    "squeeze": ("", "0", "-1", "(0, 1)", "1"),
    "expand": ("x.shape", "(3, -1, -1)", "3, *x.shape", "-1, -1", "2, 1, -1, x.shape[1]"),
    "expand_as": ("y", "cube"),
    "broadcast_to": ("x.shape", "(2, *x.shape)"),
    "narrow": (
        "0, 0, 1",
        "1, 1, x.shape[1] - 1",
        "-1, 0, x.shape[1]",
        "0, x.shape[0], 0",
        "0, -1, 1",
    ),
    "select": ("0, 0", "1, -1", "-1, 0", "0, number"),
    "chunk": ("2", "3, 1", "1", "2, -1", "4"),
    "split": ("2", "1, 1", "3, -1", "[1, x.shape[0] - 1]", "[x.shape[1], 0], 1", "x.shape[0]"),
    "unbind": ("", "1", "-1"),
    "size": ("", "0", "-1"),
    "index_select": ("0, rows", "1, columns", "-1, columns"),
    "gather": ("0, places0", "1, places1", "-1, places1"),
    "item": ("",),
    **dict.fromkeys(("zero_",), ("",)),
    "fill_": ("2", "0.5", "number", "scalar", "real"),
    "copy_": ("y", "row", "other", "scalar", "x.clone()", "y, True"),
    **dict.fromkeys(
        ("new_zeros", "new_ones"),
        ("3, 2", "x.shape", "(2, x.shape[1])", "x.shape, dtype=torch.int64", "()"),
    ),
    **dict.fromkeys(
        ("zeros_like", "ones_like"), ("", "dtype=torch.float64", "dtype=torch.bool", "device='cpu'")
    ),
}

#: name -> whole expressions, where `x` is not simply the first operand
EXPRESSIONS: dict[str, tuple[str, ...]] = {
    # told to Dynamo alone; the result is another tensor
    **dict.fromkeys(
        ("mark_dynamic", "mark_static", "maybe_mark_dynamic"), ("(f(x.clone(), 0), x * 3)[1]",)
    ),
    "mark_static_address": ("(f(x.clone()), x * 3)[1]",),
    "where": (
        "f(mask, x, y)",
        "f(mask_row, x, 2)",
        "f(mask, 1.5, x)",
        "f(x > 1, row, other)",
        "f(mask, scalar, x)",
    ),
    "conv1d": (
        "f(cube[:, :1], cube[:, :1, :1])",
        "f(cube[:, :1], cube[:, :1, :1], None, 2, 1)",
    ),
    "conv2d": (
        "f(cube.unsqueeze(1), cube[:, None, :1, :1])",
        "f(cube.unsqueeze(1), cube[:, None, :1, :1], stride=(2, 1), padding=(0, 1))",
    ),
    "conv3d": ("f(cube[None, None], cube[:, :1, :1, None, None], padding=1)",),
    "conv_transpose1d": ("f(cube[:, :1], cube[:1, :2, :2], None, 2)",),
    "conv_transpose2d": (
        "f(cube.unsqueeze(1), cube[:1, None, :2, :1])",
        "f(cube.unsqueeze(1), cube[:1, None, :1, :2], stride=(2, 1), output_padding=(1, 0))",
    ),
    "conv_transpose3d": ("f(cube[None, None], cube[:1, :1, :1, None, None], stride=2)",),
    "linear": ("f(x, weight)", "f(x, weight, bias)", "f(row, weight, bias)", "f(cube, weight)"),
    **dict.fromkeys(
        ("matmul",),
        (
            "f(x, weight.t())",
            "f(x, row)",
            "f(row, weight.t())",
            "f(row, row)",
            "f(cube, weight.t())",
            "f(cube, cube.transpose(1, 2))",
            "f(x, cube.transpose(1, 2))",
            "f(cube, row)",
        ),
    ),
    "mm": ("f(x, weight.t())", "f(x, y.t())", "f(x.t(), y)"),
    "bmm": ("f(cube, cube.transpose(1, 2))", "f(cube.transpose(1, 2), cube)"),
    "mv": ("f(x, row)", "f(weight, row)"),
    "addmm": (
        "f(bias, x, weight.t())",
        "f(x @ weight.t(), x, weight.t(), beta=0.5, alpha=2)",
        "f(scalar, x, weight.t())",
        "f(bias, x, weight.t(), beta=0)",
    ),
    "baddbmm": (
        "f(cube @ cube.transpose(1, 2), cube, cube.transpose(1, 2), beta=0.5)",
        "f(scalar, cube, cube.transpose(1, 2), alpha=0.5)",
    ),
    "scaled_dot_product_attention": (
        "f(heads, heads, heads)",
        "f(heads, heads, heads, is_causal=True)",
        "f(heads, heads, heads, scale=0.3)",
        "f(heads, heads, heads, mask_heads)",
        "f(heads, heads, heads, bias_heads)",
        "f(heads, heads * 2, heads + 1)",
        "f(heads.transpose(1, 2), heads.transpose(1, 2), heads.transpose(1, 2))",
        "f(cube, cube, cube)",
        "f(heads.expand(-1, -1, -1, -1), heads, heads, enable_gqa=True)",
        "f(*(torch.ones(2, n, 3, 4) * x[0, 0] for n in (4, 2, 2)), enable_gqa=True)",
    ),
    "_native_multi_head_attention": (
        f"[f(h, h, h, 4, 2, {ATTENTION}) for h in [heads[0]]][0]",
        f"[f(h, h, h, 4, 2, {ATTENTION}, None, False) for h in [heads[0]]][0]",
        f"[f(h, h, h, 4, 1, {ATTENTION}, None, True, False) for h in [heads[1]]][0]",
    ),
    "_transformer_encoder_layer_fwd": (
        f"f(heads[0], 4, 2, {ATTENTION}, True, False, 0.1, {FORWARD})",
        f"f(heads[0], 4, 2, {ATTENTION}, False, False, 0.1, {FORWARD})",
        f"f(heads[1], 4, 1, {ATTENTION}, True, True, 0.1, {FORWARD})",
    ),
    "layer_norm": (
        "f(x, (5,), row5, row5 + 1)",
        "f(x, [5])",
        "f(x, (5,), row5)",
        "f(x, (x.shape[1],), eps=0.1)",
        "f(x, x.shape)",
    ),
    "rms_norm": ("f(x, (5,), row5)", "f(x, (5,))", "f(x, (x.shape[1],), eps=0.1)"),
    "embedding": ("f(rows, x)", "f(places0, x)", "f(rows, x, 0)", "f(rows, x, padding_idx=-1)"),
    "dropout": ("f(x, 0.5, False)", "f(x, 0.0, True)", "f(x, 0.5, True)", "f(x, 0.25, True) * 2"),
    **dict.fromkeys(
        ("zeros", "ones"),
        (
            "f(x.shape)",
            "f(2, x.shape[0])",
            "f((x.shape[0], 3), dtype=torch.int64)",
            "f(())",
            "f(x.shape[1], dtype=x.dtype, device='cpu')",
            "f(0)",
        ),
    ),
    "full": (
        "f(x.shape, 2)",
        "f((2, x.shape[0]), 0.5)",
        "f((3,), 1, dtype=x.dtype)",
        "f(x.shape, True)",
        "f(x.shape, real)",
        "f((), 2.5)",
        "f((2,), number)",
    ),
    "arange": (
        "f(x.shape[0])",
        "f(1, x.shape[1])",
        "f(x.shape[0], dtype=torch.float32)",
        "f(0, 7, 2)",
        "f(5)",
        "f(1, x.shape[0] + 1)",
        "f(x.shape[0], 3)",
        "f(0.0, 1.0, 0.25)",
        "f(number)",
    ),
    "tensor": (
        "f(2.5) + x",
        "f([]) + x[:0, 0]",
        "f([1, number, x.shape[0]])",
        "f((True, False))",
        "f([1, 2.5], dtype=torch.float64)",
        "f(3, device='cpu') * x",
    ),
    **dict.fromkeys(
        ("cat", "concat", "concatenate"),
        (
            "f([x, y])",
            "f((x, y, x), 1)",
            "f([x, other], -1)",
            "f([x])",
            "f([x, x.t()], dim=0)",
            "f([cube, cube], 1)",
            "f([x, y[:0]])",
            "f([x.new_zeros(0), x])",
            "f([x.new_zeros(0), x.new_zeros(0)])",
            "f([torch.empty(0), x])",
        ),
    ),
    "stack": ("f([x, y])", "f((x, y, x), 1)", "f([x, other], -1)", "f([row, row])", "f([x])"),
    "broadcast_to": ("f(x, x.shape)", "f(row, x.shape)", "f(x, (2, *x.shape))"),
    "reshape": ("f(x, (-1,))", "f(x, x.shape[::-1])", "f(x, (x.shape[1], -1))"),
    "_has_torch_function": ("(f((x,)), x + 1)",),
    "_has_torch_function_unary": ("(f(x), x + 1)",),
    "_has_torch_function_variadic": ("(f(x, y), x + 1)",),
    "batch_norm": (
        "f(x, None, None, row * 0, row.abs() + 1, False, 0.1, 1e-5, True)",
        "f(x, row, row + 1, row, row.abs() + 1, False, 0.1, 1e-3, False)",
        "f(x, row, row + 1, None, None, True, 0.1, 1e-3, False)",
        "(f(x, None, None, row, row5, True, 0.5, 1e-3, False), row, row5)",
    ),
    **dict.fromkeys(
        (
            *("_get_tracing_state", "_get_deterministic_algorithms", "_is_tracing"),
            *("is_grad_enabled", "is_inference_mode_enabled", "get_default_dtype"),
            *("_len_torch_function_stack", "_len_torch_dispatch_stack"),
            *("_cuda_isCurrentStreamCapturing", "_xpu_isCurrentStreamCapturing"),
        ),
        ("(f(), x + 1)",),
    ),
    "empty": ("f(x.shape).fill_(2)", "f(2, x.shape[0], dtype=torch.int64) * 0", "f(0)"),
    "tolist": ("x.tolist()", "(x[0] * 2).tolist()", "x.sum().tolist()", "x.t().tolist()"),
    "type_as": ("x.type_as(y)", "x.type_as(other)", "mask.type_as(x)"),
    "finfo": ("x * f(torch.float32).eps", "x.masked_fill(mask, f(x.dtype).min)", "f('cpu')"),
    "iinfo": ("x + f(torch.int8).max", "f(x.dtype).bits + x"),
    "broadcast_tensors": ("f(x, row)", "f(column, row, x)", "f(x)", "f(cube, row)"),
    **dict.fromkeys(
        ("rand", "randn"),
        (
            "f(x.shape)",
            "f(x.shape[0], 2) + 1",
            "f(3, dtype=torch.float64)",
            "x + f(*x.shape)",
            "(f(2), f(x.shape[1]), x + f(()))",
        ),
    ),
    "randint": ("f(7, x.shape)", "f(2, 9, (x.shape[1],))", "f(3, (2,), dtype=torch.int32)"),
    "randperm": ("f(x.shape[0])", "x[f(x.shape[0])]"),
    "normal": ("f(0.0, 1.0, x.shape)", "f(x)", "f(x, 2.0)", "f(1.0, x.abs())"),
    **dict.fromkeys(
        ("alpha_dropout", "feature_alpha_dropout", "feature_dropout"),
        ("f(x, 0.5, False)", "f(x, 0.5, True)", "f(x, 0.25, True) + x"),
    ),
    "is_initialized": ("(f(), x + 1)",),
    "_log_api_usage_once": ("(f('a'), x + 1)",),
    "full_like": ("f(x, 2)", "f(x, 0.5, dtype=torch.float64)", "f(x, number)"),
    "no_grad": ("(f(), x + 1)[1]", "(f().__enter__(), x + 1)"),
    "autocast": ("(f('cpu', torch.bfloat16), x + 1)[1]",),
    "is_autocast_enabled": ("(f('cpu'), x + 1)", "(f(), x + 1)", "(f('cuda'), x + 1)"),
    "is_contiguous": ("(f(x), x + 1)",),
    **dict.fromkeys(("clamp_min", "clamp_max", "clamp_min_", "clamp_max_"), ("f(x, 1)",)),
    "glu": (
        "f(torch.cat([x, y], 1))",
        "f(torch.cat([x, y]), 0)",
        "f(x, 1)",
        "f(heads)",
        "f(heads.transpose(1, 3), 1)",
    ),
    "nll_loss_nd": (
        "f(x, places1[:, 0], None, 1)",
        "f(x, x[:, 0].long().clamp(0, 1), row, 2)",
        "f(x, x[:, 0].long() % x.shape[1], None, 0, 1)",
        "f(cube.transpose(0, 1), cube[0].long() * 0, None, 1)",
    ),
    "cross_entropy_loss": (
        "f(x, places1[:, 0], None, 1)",
        "f(x, places1[:, 1], row, 0)",
        "f(x, x[:, 0].long() % x.shape[1], None, 2, 1)",
        "f(x, x[:, 0].long(), None, 1, -1)",
        "f(x, y.softmax(1), None, 1)",
        "f(x, x[:, 0].long() % x.shape[1], None, 1, -100, 0.1)",
    ),
    "group_norm": (
        "f(x, 1, row5, row5 + 1)",
        "f(cube.new_ones(2, 6, 3) * x[0, 0], 3)",
        "f(torch.cat([heads, heads]).transpose(1, 3), 2, eps=0.1)",
        "f(x.transpose(0, 1), 1, None, row, 1e-3, False)",
    ),
    "item": ("x.sum().item()", "(x > 1).sum().item() + 1", "(x.sum() > 0).item()"),
    "permute": ("f(x, (1, 0))", "f(cube, (2, 0, 1))", "f(cube, dims=(0, -1, 1))"),
}
METHOD_EXPRESSIONS = {
    "float_power_": ("x.double().float_power_(2)", "x.double().float_power_(y)"),
    "addmm_": ("x.addmm_(y @ y.t(), y, beta=0.5)", "(x @ weight.t()).addmm_(x, weight.t())"),
    "baddbmm_": ("cube.baddbmm_(cube @ cube.transpose(1, 2), cube * 2, alpha=0.5)",),
    "where": ("x.where(mask, y)", "x.where(mask, 2)", "x.where(x > 1, row)"),
    "permute": (
        "x.permute(1, 0)",
        "x.permute((1, 0))",
        "cube.permute(2, 0, 1)",
        "x.permute(-1, 0)",
    ),
    "expand": (
        "x.expand(x.shape)",
        "x.expand(3, *x.shape)",
        "row.expand(x.shape)",
        "row.expand(-1, -1)",
        "column.expand(x.shape)",
        "x.expand(2, -1, -1)",
        "scalar.expand(x.shape)",
    ),
    "contiguous": ("x.contiguous()", "x.t().contiguous()", "x[:, 1:].contiguous()"),
    "broadcast_to": ("row.broadcast_to(x.shape)", "x.broadcast_to((2, *x.shape))"),
    "reshape": tuple(f"x.reshape({each})" for each in ARGUMENTS["reshape"]),
}


def in_place_base(name: str) -> str:
    return name.removesuffix("_") if name.endswith("_") else ""


def expressions(name: str, is_method: bool) -> tuple[str, ...]:
    """All samples of a row of the table; none if nobody has written one."""
    if is_method and name in METHOD_EXPRESSIONS:
        return METHOD_EXPRESSIONS[name]
    if name in EXPRESSIONS:
        given = EXPRESSIONS[name]
        if not is_method:
            return given
        return tuple(as_method(text, name) for text in given)
    arguments = ARGUMENTS.get(name)
    if arguments is None and (base := in_place_base(name)):
        arguments = ARGUMENTS.get(base)
    if arguments is None:
        return ()
    if not is_method:
        return tuple(f"f(x{', ' * bool(text)}{text})" for text in arguments)
    return tuple(f"x.{name}({text})" for text in arguments)


def as_method(text: str, name: str) -> str:
    """`f(a, b)` as `a.name(b)`."""
    if not text.startswith("f("):
        return text
    call = ast.parse(text, mode="eval").body
    assert isinstance(call, ast.Call)
    first, *rest = map(ast.unparse, [*call.args, *call.keywords])
    return f"({first}).{name}({', '.join(rest)})"


def rows() -> list[tuple[str, Any, bool]]:
    """Name, function, whether it is a method: of all rows of the table of PyTorch's meanings."""
    found = [
        (function.__name__, function, False)
        for function, meaning in FUNCTIONS.items()
        if meaning.__module__.startswith("dvm.magpy_capture.meanings.torch")
    ]
    methods = [
        (name, getattr(torch.Tensor, name), True) for library, name in METHODS if library == "torch"
    ]
    return sorted([*found, *methods], key=lambda row: (row[0], row[2], str(row[1])))


__all__ = ["expressions", "rows"]
