"""The passes of docs/passes.md on a captured function, a model of torch and an ONNX file."""

import re
from pathlib import Path

import numpy as np
import pytest

import dvm

PAGE = (Path(__file__).parents[3] / "docs" / "passes.md").read_text("utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.S)


def _passes() -> dict[str, type]:
    """The classes as the page has them."""
    found = {"dvm": dvm, "np": np}
    exec("from dvm.passes import PatternPass, ops", found)
    for block in BLOCKS:
        for source in re.findall(r"^class \w+\(PatternPass\):\n(?:    .*\n|\n)+", block, re.M):
            exec(source, found)
    return found


PASSES = {name: _passes()[name] for name in ("GeluBySigmoid", "NormByRow", "Rotary")}
rng = np.random.default_rng(0)


def array(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(0.79788456 * (x + 0.044715 * x**3)))


def norm(x, w):
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + 1e-6) * w


def rotary(x, cos, sin):
    half = x.shape[-1] // 2
    return x * cos + np.concatenate([-x[..., half:], x[..., :half]], axis=-1) * sin


FUNCTIONS = {"GeluBySigmoid": gelu, "NormByRow": norm, "Rotary": rotary}
GIVEN = {
    "GeluBySigmoid": [array(64, 96)],
    "NormByRow": [array(64, 96), array(96)],
    "Rotary": [array(2, 3, 16, 64), array(16, 64), array(16, 64)],
}


def replaced(decisions, name) -> int:
    return sum(d["what"].startswith(f"pass {name} ") and d["verdict"] == "yes" for d in decisions)


@pytest.mark.parametrize("name", PASSES)
def test_a_captured_function(name):
    f, given = FUNCTIONS[name], GIVEN[name]
    made = dvm.compile(f, passes=[PASSES[name]])
    for _ in range(3):
        y = made(*given)
    assert not made.fallback_reasons
    np.testing.assert_allclose(y, f(*given), rtol=2e-5, atol=1e-6)
    assert replaced(dvm._dvm.paths(made)[0]["decisions"], name) == 1
    assert f"pass {name}: 1 replaced" in str(dvm.explain(made)(*given))


def noted(each):
    """A pass that keeps the verdicts of its last run."""

    class Noted(each):
        def apply(self, graph):
            made, notes = super().apply(graph)
            self.verdicts = [note.verdict for note in notes]
            return made, notes

    return Noted()


@pytest.mark.parametrize("name", PASSES)
def test_a_model_of_torch(name):
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, *given):
            if name == "GeluBySigmoid":
                return torch.nn.functional.gelu(given[0], approximate="tanh")
            if name == "NormByRow":
                x, w = given
                return w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
            x, cos, sin = given
            half = x.shape[-1] // 2
            first, second = x[..., :half], x[..., half:]
            return x * cos + torch.cat((-second, first), dim=-1) * sin

    given = [torch.from_numpy(x) for x in GIVEN[name]]
    torch._dynamo.reset()
    model = Model().eval()
    with torch.no_grad():
        by_dynamo, by_capture = noted(PASSES[name]), noted(PASSES[name])
        made = torch.compile(model, backend="dvm", options={"passes": [by_dynamo]})
        torch.testing.assert_close(made(*given), model(*given), rtol=2e-5, atol=1e-6)
        captured = dvm.compile(model, passes=[by_capture])
        for _ in range(3):
            y = captured(*given)
        torch.testing.assert_close(y, model(*given), rtol=2e-5, atol=1e-6)
        for each in (by_dynamo, by_capture):
            assert each.verdicts == ["yes"]


ONNX = {
    "GeluBySigmoid": """
        (float[m, n] x) => (float[m, n] y)
        <float half = {0.5}, float one = {1.0}, float c = {0.79788456}, float d = {0.044715},
         float three = {3.0}> {
            cube = Pow(x, three)
            scaled = Mul(cube, d)
            inner = Add(x, scaled)
            u = Mul(inner, c)
            t = Tanh(u)
            s = Add(t, one)
            xs = Mul(x, s)
            y = Mul(xs, half)
        }""",
    "NormByRow": """
        (float[m, n] x, float[n] w) => (float[m, n] y)
        <int64[1] axes = {-1}, float[1] eps = {0.000001}> {
            square = Mul(x, x)
            mean = ReduceMean <keepdims = 1> (square, axes)
            shifted = Add(eps, mean)
            root = Sqrt(shifted)
            unit = Div(x, root)
            y = Mul(w, unit)
        }""",
    "Rotary": """
        (float[b, h, m, 64] x, float[m, 64] cos, float[m, 64] sin) => (float[b, h, m, 64] y) {
            first, second = Split <axis = -1, num_outputs = 2> (x)
            other = Neg(second)
            turned = Concat <axis = -1> (other, first)
            left = Mul(x, cos)
            right = Mul(turned, sin)
            y = Add(left, right)
        }""",
}


def onnx_model(name):
    onnx = pytest.importorskip("onnx")
    return onnx.parser.parse_model('<ir_version: 10, opset_import: ["" : 21]> g ' + ONNX[name])


@pytest.mark.parametrize("name", PASSES)
def test_an_onnx_file(name, tmp_path):
    import onnx

    import dvm.onnx

    onnx.save(onnx_model(name), tmp_path / "model.onnx")
    made = dvm.onnx.load(tmp_path / "model.onnx", passes=[PASSES[name]])
    given = GIVEN[name]
    np.testing.assert_allclose(made(*given)[0], FUNCTIONS[name](*given), rtol=2e-5, atol=1e-6)
    decisions = made._latest().compiled._compiled.describe()["decisions"]
    assert replaced(decisions, name) == 1


def test_rotary_makes_no_array_in_between():
    """What the pass is for: one kernel that reads halves the other way round, not three."""
    import dvm.onnx

    model = onnx_model("Rotary")
    plans = [
        dvm.onnx.load(model, passes=passes)._latest().compiled.plan
        for passes in ([], [PASSES["Rotary"]])
    ]
    assert [plan.count("\n  run ") for plan in plans] == [3, 1]


def test_functions_share_no_plans():
    """The same code with other passes is another function."""

    def f(x):
        return np.tanh(x)

    class Same(dvm.passes.PatternPass):
        def pattern(self, x):
            return dvm.passes.ops.tanh(x)

        def replacement(self, x):
            return x

    x = np.linspace(0, 1, 100_000, dtype=np.float32)
    changed, plain = dvm.compile(f, passes=[Same]), dvm.compile(f)
    for _ in range(3):
        a, b = changed(x), plain(x)
    assert np.array_equal(a, x)
    assert np.allclose(b, np.tanh(x))
