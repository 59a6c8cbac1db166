"""The text encoder of `make demo` over lengths never met, capture and compilation included."""

from __future__ import annotations

import sys
from typing import Any

from ..bench import Bench
from ..figures import Figure, Verdict, by_case

NAME = "encoder"
OPAQUE, PEAK, ALL = "opaque calls [1]", "peak [MiB]", "all lengths"
FASTER, FEWEST = 2.0, 1.0


def texts(demo: Any, tokenize: Any) -> list[Any]:
    """Return the tokens of one text of each length: sentences, then whole pages."""
    each: dict[int, Any] = {}
    for text in [*demo.sentences(), *demo.spread(demo.pages(), demo.PAGES)]:
        tokens = tokenize(text)
        each.setdefault(len(tokens), tokens)
    return list(each.values())


def run(bench: Bench) -> None:
    from benchmarks.memory import EXAMPLES, peaks

    import dvm

    sys.path.insert(0, str(EXAMPLES))
    import demo
    from text_encoder import TextEncoder, tokenize

    compiled = dvm.compile(TextEncoder.encode)
    chosen = bench.some(texts(demo, tokenize), 20)
    with dvm.stance("force_capture"):  # as the demo does: at the first call
        first = demo.measure(compiled, TextEncoder(), chosen, 0, "lengths")
    if first.difference > 1e-3:
        raise AssertionError(f"the embeddings differ by {first.difference:.1e}")
    for name, times in (("dvm", first.compiled), ("numpy", first.plain)):
        bench.keep(NAME, "lengths", ALL, name, sum(times[0]) * 1e6)
    calls = {call["name"] for path in dvm._dvm.paths(compiled) for call in path["opaque_calls"]}
    bench.keep(NAME, "lengths", ALL, OPAQUE, len(calls))
    bench.note(NAME, ALL, f"calls {', '.join(sorted(calls)) or 'nothing'}")
    if not bench.quick:
        for name, found in peaks().items():
            bench.keep(NAME, "memory", name, PEAK, found[-1])


def verdicts(figures: list[Figure]) -> list[Verdict]:
    found = []
    groups = by_case(figures)
    for (group, threads), cases in groups.items():
        if group == "memory":
            ratio = cases["numpy"][PEAK] / cases["dvm"][PEAK]
            what, bar = "NumPy's peak memory over dvm's", FEWEST
        else:
            ratio = cases[ALL]["numpy"] / cases[ALL]["dvm"]
            what, bar = "over NumPy, all lengths new", FASTER
            calls = cases[ALL][OPAQUE]
            found.append(
                Verdict(NAME, "1 - opaque calls", threads, 1 - calls, 1.0, 1 - calls, 0, "", 1)
            )
        found.append(Verdict(NAME, what, threads, ratio, bar, ratio, 0, "", 1))
    return found
