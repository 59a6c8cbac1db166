"""Models of PyTorch through dvm, against eager torch and torch.compile, at sizes people use.

Everything of one model is measured in one process, the contenders in turns, medians of rounds:

    python -m benchmarks.torch_models [--json FILE] [--models bert,gpt2] [--training] [--inductor]
    python -m benchmarks.torch_models --unseen bert    # lengths never seen before

The table has microseconds per call of eager torch, and the other contenders' shares of that.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn

import dvm
import dvm.torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "py"))
from torch_door import models as small

ROUNDS = 15
PAUSE_SECONDS = 0.02  # in which worker threads of other libraries stop spinning
BATCH, LENGTH = 4, 64
Arguments = tuple[torch.Tensor, ...]
Made = tuple[nn.Module, Arguments]


HEADS = dict.fromkeys(("OPT", "Llama", "Mixtral"), "ForCausalLM") | {"GPT2": "LMHeadModel"}


def transformer(kind: str, **sizes: Any) -> Made:
    """A model of transformers by the names of its config and class, over a batch of tokens."""
    config = getattr(transformers, f"{kind}Config")(vocab_size=8000, **sizes)
    model = getattr(transformers, kind + HEADS.get(kind, "Model"))(config)
    return model, (torch.randint(3, 8000, (BATCH, LENGTH)),)


WIDE = {"hidden_size": 256, "num_hidden_layers": 4, "num_attention_heads": 4}
ENDS = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
GPT_ENDS = {"bos_token_id": 1, "eos_token_id": 2}
BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12}


def images(model: nn.Module) -> Made:
    return model, (torch.rand(BATCH, 3, 64, 64),)


MODELS: dict[str, Callable[[], Made]] = {
    "bert": lambda: transformer("Bert", **WIDE, intermediate_size=1024),
    "albert": lambda: transformer("Albert", **WIDE, intermediate_size=1024, embedding_size=128),
    "distilbert": lambda: transformer(
        "DistilBert", dim=256, n_layers=4, n_heads=4, hidden_dim=1024
    ),
    "roberta": lambda: transformer("Roberta", **WIDE, intermediate_size=1024, **ENDS),
    "gpt2": lambda: transformer("GPT2", n_embd=256, n_layer=4, n_head=4, **GPT_ENDS),
    "opt": lambda: transformer("OPT", **WIDE, ffn_dim=1024, word_embed_proj_dim=256, **ENDS),
    "llama": lambda: transformer(
        "Llama", **WIDE, num_key_value_heads=2, intermediate_size=704, **ENDS
    ),
    "mixtral": lambda: transformer(
        "Mixtral",
        **WIDE,
        num_key_value_heads=2,
        intermediate_size=512,
        num_local_experts=4,
        **ENDS,
    ),
    "resnet": lambda: images(small.Resnet()),
    "mobilenet": lambda: images(small.Mobilenet(16, 64)),
    "unet": lambda: images(small.Unet()),
    "lstm": lambda: (small.Recurrent(nn.LSTM), (torch.randint(0, 30, (BATCH, LENGTH)),)),
    "gru": lambda: (small.Recurrent(nn.GRU), (torch.randint(0, 30, (BATCH, LENGTH)),)),
    "mmoe": lambda: (
        small.Mmoe(8, 3, 64),
        (torch.randint(0, 50, (256, 16)), torch.rand(256, 5)),
    ),
    "dlrm": lambda: (small.Dlrm(8, 32), (torch.randint(0, 20, (512, 8)), torch.rand(512, 5))),
    "autoencoder": lambda: (small.Autoencoder(), (torch.rand(256, 16, 12),)),
    "gan": lambda: (small.Gan(), (torch.rand(256, 4), torch.rand(256, 12))),
    "graph": lambda: (
        small.GraphAttention(),
        (torch.rand(500, 6), torch.randint(0, 500, (2, 4000))),
    ),
}
UNSEEN: dict[str, Callable[[], Made]] = {
    "bert": lambda: transformer("Bert", **BASE, intermediate_size=3072),
    "gpt2": lambda: transformer("GPT2", n_embd=256, n_layer=4, n_head=4, **GPT_ENDS),
}


def called(contender: str, module: nn.Module) -> Callable[..., Any]:
    if contender == "eager":
        return module
    if contender == "native":  # captured by dvm itself
        return dvm.compile(module)
    if contender == "dvm":
        return torch.compile(module, backend="dvm", dynamic=True)
    return torch.compile(module)


def first(made: Any) -> torch.Tensor:
    return made if isinstance(made, torch.Tensor) else made[0]


def step(call: Callable[..., Any], args: Arguments, trains: bool) -> torch.Tensor:
    if not trains:
        with torch.no_grad():
            return first(call(*args))
    result = first(call(*args)).square().mean()
    result.backward()
    return result.detach()


def seconds(call: Callable[[], Any], least: float = 0.05) -> float:
    """A call, the mean over as many as take so long, after two that do not count."""
    time.sleep(PAUSE_SECONDS)
    call()
    call()
    begin, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < least:
        call()
        calls += 1
    return spent / calls


def compare(name: str, contenders: list[str], trains: bool, dtype: torch.dtype) -> dict[str, Any]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    module, args = MODELS[name]()
    module = module.to(dtype).train(trains)
    args = tuple(x.to(dtype) if x.is_floating_point() else x for x in args)
    calls = {}
    for contender in contenders:
        call = called(contender, module)
        calls[contender] = lambda call=call: step(call, args, trains)
        calls[contender]()
    found: dict[str, list[float]] = {contender: [] for contender in contenders}
    for _ in range(ROUNDS):
        for contender, call in calls.items():
            found[contender].append(seconds(call))
    report = dvm.torch.report()
    ops = {kind: report.count(kind) for kind in ("compiled", "library", "fallback")}
    medians = {contender: statistics.median(times) for contender, times in found.items()}
    return {"model": name, "trains": trains, "dtype": str(dtype), "seconds": medians, "ops": ops}


def table(rows: list[dict[str, Any]], contenders: list[str]) -> str:
    others = [contender for contender in contenders if contender != "eager"]
    lines = [f"{'model':14}{'eager us':>10}" + "".join(f"{c + ' x':>12}" for c in others)]
    shares: dict[str, list[float]] = {contender: [] for contender in others}
    for row in rows:
        eager = row["seconds"]["eager"]
        line = f"{row['model']:14}{1e6 * eager:10.0f}"
        for contender in others:
            shares[contender].append(eager / row["seconds"][contender])
            line += f"{shares[contender][-1]:12.2f}"
        lines.append(f"{line}   {', '.join(f'{n} {kind}' for kind, n in row['ops'].items())}")
    mean = (math.exp(statistics.fmean(map(math.log, found))) for found in shares.values())
    lines.append(f"{'geomean':24}" + "".join(f"{value:12.2f}" for value in mean))
    return "\n".join(lines)


def sweep(name: str, contender: str, count: int = 50) -> dict[str, Any]:
    """Lengths never seen before from the first call on, in this process; then each once more."""
    module, _ = UNSEEN[name]()
    call = called(contender, module.eval())
    lengths = torch.randperm(128, generator=torch.Generator().manual_seed(0))[:count] + 1
    passes: list[list[float]] = []
    with torch.no_grad():
        for _ in range(2):
            times = []
            for length in lengths.tolist():
                tokens = torch.ones(1, length, dtype=torch.int64)
                begin = time.perf_counter()
                call(tokens)
                times.append(time.perf_counter() - begin)
            passes.append(times)
    graphs = dvm.torch.report().graphs
    return {
        "contender": contender,
        "total": sum(passes[0]),
        "again": sum(passes[1]),
        "worst": max(a / b for a, b in list(zip(*passes, strict=True))[2:]),
        "graphs": len(graphs) or torch._dynamo.utils.counters["stats"]["unique_graphs"],
        "compiling": [graph.seconds for graph in graphs],
    }


def unseen(name: str, contenders: list[str]) -> list[dict[str, Any]]:
    """Each contender in a process of its own, for what is cached is the process's."""
    rows = []
    for contender in contenders:
        command = [sys.executable, "-m", "benchmarks.torch_models", "--sweep", name, contender]
        made = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        rows.append(json.loads(made.stdout.splitlines()[-1]))
        print(
            "{contender:10} all {total:7.2f} s, once more {again:6.2f} s, {graphs} graphs, the "
            "worst after the second {worst:.2f} x its repeat".format(**rows[-1])
        )
        if rows[-1]["compiling"]:
            print(f"{'':10} dvm's own share: {[f'{t:.3f} s' for t in rows[-1]['compiling']]}")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--training", action="store_true", help="forward and backward")
    parser.add_argument("--inductor", action="store_true", help="torch.compile, too (minutes)")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--unseen", choices=UNSEEN)
    parser.add_argument("--sweep", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    contenders = ["eager", "dvm", *(["inductor"] if options.inductor else [])]
    if options.sweep:
        print(json.dumps(sweep(*options.sweep)))
        return
    if options.unseen:
        rows = unseen(options.unseen, contenders)
    else:
        dtype = torch.bfloat16 if options.bf16 else torch.float32
        rows = []
        for name in options.models.split(","):
            rows.append(compare(name, contenders, options.training, dtype))
            print(table(rows[-1:], contenders).splitlines()[1], flush=True)
        print(table(rows, contenders))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
