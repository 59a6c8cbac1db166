"""Models of the library transformers, captured natively: a few captures for all shapes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

import dvm
from whole import WHOLE

transformers: Any = pytest.importorskip("transformers")

WORDS = 60
#: batches and lengths
SHAPES = [(2, 7), (1, 1), (2, 1), (1, 5), (3, 12)]
if WHOLE:
    SHAPES += [(b, n) for b in (1, 2, 4, 5) for n in (2, 3, 9, 20, 40) if (b, n) not in SHAPES]
MOST_CAPTURES = 3
#: Torch's convolutions give one token, and one sequence, in another order of memory, and what is
#: kept of fewer tokens than a convolution has places is filled up.
MORE_CAPTURES = {"mamba": 7}
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": WORDS}


def bert(attention: str) -> Any:
    config = transformers.BertConfig(**SMALL, intermediate_size=64, attn_implementation=attention)
    return transformers.BertModel(config)


def distilbert() -> Any:
    sizes = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    return transformers.DistilBertModel(transformers.DistilBertConfig(**sizes, vocab_size=WORDS))


def gpt2() -> Any:
    sizes = {"n_embd": 32, "n_layer": 2, "n_head": 2, "vocab_size": WORDS}
    config = transformers.GPT2Config(**sizes, bos_token_id=1, eos_token_id=2)
    return transformers.GPT2LMHeadModel(config)


def llama(heads_of_keys: int) -> Any:
    config = transformers.LlamaConfig(
        **SMALL, num_key_value_heads=heads_of_keys, intermediate_size=64, pad_token_id=0
    )
    return transformers.LlamaForCausalLM(config)


def mixtral() -> Any:
    config = transformers.MixtralConfig(
        **SMALL,
        num_key_value_heads=2,
        intermediate_size=32,
        num_local_experts=4,
        pad_token_id=0,
    )
    return transformers.MixtralForCausalLM(config)


def mamba() -> Any:
    """Its layers go from token to token, and make modules within their calls.

    Of a class that has its own `__init__`: others run uncompiled once Dynamo has replaced theirs.
    """
    sizes = {"hidden_size": 32, "state_size": 4, "num_hidden_layers": 2, "vocab_size": WORDS}
    sizes["hidden_act"] = "gelu"
    return transformers.MambaForCausalLM(transformers.MambaConfig(**sizes))


def t5() -> Any:
    sizes = {"d_model": 32, "d_kv": 16, "d_ff": 64, "num_layers": 2, "num_heads": 2}
    config = transformers.T5Config(**sizes, vocab_size=WORDS, decoder_start_token_id=0)
    return transformers.T5ForConditionalGeneration(config)


MODELS: dict[str, Callable[[], Any]] = {
    "bert, eager": lambda: bert("eager"),
    "bert, sdpa": lambda: bert("sdpa"),
    "distilbert": distilbert,
    "gpt2": gpt2,
    "llama": lambda: llama(2),
    "llama, heads that share keys": lambda: llama(1),
    "mamba": mamba,
    "mixtral": mixtral,
    "t5": t5,
}


@pytest.fixture(params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    return MODELS[request.param]().eval()


def tensors_of(result: Any) -> Iterator[torch.Tensor]:
    """All that an output leads to, caches included."""
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, dict):
        for each in result.values():
            yield from tensors_of(each)
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from tensors_of(each)
    elif isinstance(result, transformers.DynamicCache):
        for layer in result.layers:
            states = getattr(layer, "conv_states", {}), getattr(layer, "recurrent_states", {})
            yield from tensors_of(states if any(states) else (layer.keys, layer.values))
    elif isinstance(result, transformers.EncoderDecoderCache):
        yield from tensors_of([result.self_attention_cache, result.cross_attention_cache])
    else:
        raise TypeError(type(result))


def assert_same(result: Any, expected: Any) -> None:
    assert type(result) is type(expected)
    if isinstance(expected, dict):
        assert list(result) == list(expected)
    mine, theirs = list(tensors_of(result)), list(tensors_of(expected))
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


def ids_of(shape: tuple[int, int]) -> torch.Tensor:
    return torch.randint(3, WORDS, shape)


def assert_native(compiled: Any, calls: int, most: int = MOST_CAPTURES) -> None:
    stats = compiled.stats
    assert stats.fallbacks == 0, compiled.fallback_reasons
    assert stats.captures <= most, compiled.why_recompiled()
    assert stats.hits == calls - stats.captures


def test_forward(model: Any) -> None:
    program = lambda ids: model(ids)  # noqa: E731
    if model.config.is_encoder_decoder:
        program = lambda ids: model(input_ids=ids, decoder_input_ids=ids.flip(1))  # noqa: E731
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"), torch.no_grad():
        for shape in SHAPES * 2:
            ids = ids_of(shape)
            assert_same(compiled(ids), program(ids))
    most = MORE_CAPTURES.get(model.config.model_type, MOST_CAPTURES)
    assert_native(compiled, 2 * len(SHAPES), most)


def test_padding(model: Any) -> None:
    """Masks of tokens that are left out, and masks that leave out none."""

    def program(ids: torch.Tensor, mask: torch.Tensor) -> Any:
        more = {"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}
        return model(input_ids=ids, attention_mask=mask, **more)

    compiled = dvm.compile(program)
    with dvm.stance("force_capture"), torch.no_grad():
        for shape in SHAPES * 2:
            ids, mask = ids_of(shape), torch.ones(shape, dtype=torch.long)
            mask[-1, 1 + shape[1] // 2 :] = 0
            assert_same(compiled(ids, mask), program(ids, mask))
    # Models ask whether a mask leaves out any, besides one token and one sequence.
    most = MORE_CAPTURES.get(model.config.model_type, MOST_CAPTURES + 2)
    assert_native(compiled, 2 * len(SHAPES), most)


@pytest.mark.parametrize("name", ["gpt2", "llama, heads that share keys", "mamba", "t5"])
def test_generating(name: str) -> None:
    """A compiled `forward` within generate(), which gives it a cache that grows."""
    torch.manual_seed(0)
    model = MODELS[name]().eval()

    def generate(ids: torch.Tensor) -> torch.Tensor:
        made = model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)
        return made if isinstance(made, torch.Tensor) else made.sequences

    given = [ids_of(shape) for shape in SHAPES]
    expected = [generate(ids) for ids in given]
    model.forward = compiled = dvm.compile(model.forward)
    with dvm.stance("force_capture"):
        for ids, wanted in zip(given * 2, expected * 2, strict=True):
            assert torch.equal(generate(ids), wanted)
    most = MORE_CAPTURES.get(model.config.model_type, MOST_CAPTURES)
    assert_native(compiled, compiled.stats.calls, most)


@pytest.mark.parametrize(
    ("name", "how"),
    [
        ("gpt2", {}),
        ("gpt2", {"do_sample": True}),
        ("gpt2", {"num_beams": 3}),
        ("llama", {}),
        ("llama, heads that share keys", {}),
        ("mamba", {}),
        ("mixtral", {}),
        ("t5", {}),
    ],
)
def test_generating_within_a_function(name: str, how: dict[str, Any]) -> None:
    """All of generate(): its settings, its cache, its loop over tokens, and where that ends."""
    torch.manual_seed(0)
    model = MODELS[name]().eval()
    program = lambda ids: model.generate(  # noqa: E731
        ids, max_new_tokens=3, pad_token_id=0, eos_token_id=WORDS, **{"do_sample": False, **how}
    )
    compiled = dvm.compile(program)
    with dvm.stance("force_capture"), torch.no_grad():
        for number, shape in enumerate(SHAPES * 2):
            ids = ids_of(shape)
            torch.manual_seed(number)
            wanted = program(ids)
            torch.manual_seed(number)
            assert torch.equal(compiled(ids), wanted)
    # Its code goes another way for one prompt, and for prompts of one token.
    most = MORE_CAPTURES.get(model.config.model_type, 4)
    assert_native(compiled, 2 * len(SHAPES), most)


def test_a_cache_that_grows() -> None:
    """Each call appends to the layers of the cache that it is given."""
    torch.manual_seed(0)
    model = gpt2().eval()
    compiled = dvm.compile(lambda ids, cache: model(ids, cache=cache))
    with dvm.stance("force_capture"), torch.no_grad():
        for batch in (2, 1, 3):
            mine, theirs = (transformers.DynamicCache(config=model.config) for _ in range(2))
            for length in (4, 1, 1, 3, 1):
                ids = ids_of((batch, length))
                result, expected = compiled(ids, mine), model(ids, cache=theirs)
                assert result.cache is mine
                assert_same(result, expected)
    assert_native(compiled, 15)


def test_beside_dynamo() -> None:
    """Which, once it has compiled something, keeps in mind each module that is made."""
    torch.compile(torch.nn.Linear(2, 2), backend="eager")(torch.ones(1, 2))
    torch.manual_seed(0)
    model = llama(2).eval()  # makes one in each call
    compiled = dvm.compile(lambda ids: model(ids))
    with dvm.stance("force_capture"), torch.no_grad():
        for _ in range(4):  # of which one finds out that Dynamo has come
            ids = ids_of((2, 5))
            assert_same(compiled(ids), model(ids))
    assert compiled.stats.captures == 1
    assert compiled.stats.hits >= 2


def test_a_model_that_changes_between_calls() -> None:
    """What its answers depend on is asked on each call: weights, its mode, its configuration."""
    torch.manual_seed(0)
    model = bert("sdpa").eval()
    compiled = dvm.compile(lambda ids: model(ids).last_hidden_state)
    ids = ids_of((2, 5))

    def check() -> None:
        assert_same(compiled(ids), model(ids).last_hidden_state)

    with dvm.stance("force_capture"), torch.no_grad():
        check()
        model.encoder.layer[0].output.dense.weight.mul_(2)
        check()
        model.config._attn_implementation = "eager"
        check()
        model.config.output_hidden_states = True
        check()
        model.encoder.layer[1] = model.encoder.layer[0]
        check()
