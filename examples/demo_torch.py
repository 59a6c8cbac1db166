"""A BERT encoder of transformers over sentences of every length: eager, torch.compile and dvm.

Each contender runs in a process of its own, from the first call on, over the same sentences of
Python's reference manual, unpadded, one at a time; weights are made on the spot. The exit status is
not zero if an embedding of dvm's differs from eager torch's.

    python examples/demo_torch.py [--sentences N] [--only eager,dvm]

Needs the extra `demo`: pip install '.[demo]'
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from typing import Any

CONTENDERS = {"eager": "torch, eager", "inductor": "torch.compile", "dvm": "dvm"}
# Embeddings are of order 1; sums in another order and exp differ in the last bits.
TOLERANCE = 1e-4


def stream(count: int) -> list[list[int]]:
    """Tokens of sentences, evenly from all of the manual; words are numbered by a hash."""
    from demo import sentences, spread
    from text_encoder import tokenize

    return [words for s in spread(sentences(), count) if (words := tokenize(s).tolist())]


def model() -> Any:
    import torch
    import transformers

    torch.manual_seed(0)
    config = transformers.BertConfig(
        vocab_size=20000,
        hidden_size=256,
        num_hidden_layers=4,
        num_attention_heads=4,
        intermediate_size=1024,
    )
    return transformers.BertModel(config, add_pooling_layer=False).eval()


def compiled(contender: str, encoder: Any) -> Any:
    import torch

    if contender == "eager":
        return encoder
    if contender == "inductor":
        return torch.compile(encoder)  # as it comes: sizes are dynamic once they changed

    import dvm

    return dvm.compile(encoder)


def run(contender: str, count: int) -> dict[str, Any]:
    """One contender, in this process."""
    import torch

    encode, texts = compiled(contender, model()), stream(count)
    times, embeddings = [], []
    with torch.no_grad():
        for words in texts:
            begin = time.perf_counter()
            hidden = encode(torch.tensor([words])).last_hidden_state
            embeddings.append(hidden.mean((0, 1))[:8].tolist())
            times.append(time.perf_counter() - begin)
    graphs = torch._dynamo.utils.counters["stats"]["unique_graphs"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"times": times, "embeddings": embeddings, "graphs": graphs, "peak": peak}


def measured(contender: str, count: int) -> dict[str, Any] | str:
    """One contender in a process of its own; the last line of what it said if it cannot run."""
    command = [sys.executable, __file__, "--run", contender, "--sentences", str(count)]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode == 0:
        result: dict[str, Any] = json.loads(made.stdout.splitlines()[-1])
        return result
    said = [line for line in made.stderr.splitlines() if line.strip()]
    return next((line for line in said if "Error" in line), said[-1] if said else "no message")


def table(results: dict[str, dict[str, Any]]) -> str:
    head = ("", "first result", "all", "median", "p99", "graphs", "peak memory")
    lines = ["{:14}{:>13}{:>10}{:>10}{:>10}{:>8}{:>13}".format(*head)]
    for contender, result in results.items():
        times = sorted(result["times"])
        p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
        lines.append(
            f"{CONTENDERS[contender]:14}{result['times'][0]:11.2f} s{sum(times):8.2f} s"
            f"{1e3 * statistics.median(times):7.2f} ms{1e3 * p99:7.1f} ms"
            f"{result['graphs']:8}{result['peak']:10.0f} MB"
        )
    return "\n".join(lines)


def difference(results: dict[str, dict[str, Any]]) -> float:
    pairs = zip(results["eager"]["embeddings"], results["dvm"]["embeddings"], strict=True)
    return max(abs(a - b) for x, y in pairs for a, b in zip(x, y, strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sentences", type=int, default=400, help="how many to encode")
    parser.add_argument("--only", default=",".join(CONTENDERS), help="which contenders")
    parser.add_argument("--run", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        print(json.dumps(run(options.run, options.sentences)))
        return 0
    texts = stream(options.sentences)
    lengths = sorted(map(len, texts))
    print(
        f"BERT (4 layers of 256) over {len(texts)} sentences of Python's reference manual, "
        f"{lengths[0]} to {lengths[-1]} words, {len(set(lengths))} lengths"
    )
    results = {}
    for contender in options.only.split(","):
        result = measured(contender, options.sentences)
        if isinstance(result, str):
            print(f"{CONTENDERS[contender]} did not run: {result}")
        else:
            results[contender] = result
    print(table(results))
    if not {"eager", "dvm"} <= results.keys():
        return int("dvm" not in results)
    print(f"largest difference of dvm's embeddings from eager torch's: {difference(results):.1e}")
    return int(difference(results) > TOLERANCE)


if __name__ == "__main__":
    sys.exit(main())
