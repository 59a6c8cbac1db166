"""Run many generated programs and print statistics and the smallest failing ones.

    python -m tests.py.generated.run --examples 5000 --seed 1

Programs run in child processes of a hundred each, so that a crash or a hang costs one of them and
names itself. Exit status 1 if anything differed.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import json
import re
import subprocess
import sys
import time
from typing import Any

from .choices import seeded
from .program import generate

BATCH = 100


def one_batch(seed: int, begin: int, end: int, shrinks: int) -> None:
    """Run programs `begin` to `end`; print one JSON line for each, before and after it ran."""
    from .compare import difference
    from .shrink import shrink

    faulthandler.enable()
    for index in range(begin, end):
        print(json.dumps({"begin": index}), flush=True)
        program = generate(seeded((seed, index)))
        row: dict[str, Any] = {"index": index, "calls": len(program.calls)}

        def count(compiled: Any, row: dict[str, Any] = row) -> None:
            stats = compiled.stats
            row["hits"] = stats.hits
            row["reasons"] = [r.split(": ", 1)[-1] for r in compiled.fallback_reasons]
            row["fallbacks"] = stats.fallbacks

        try:
            found = difference(program, count)
            if found:
                if shrinks > 0:
                    program, found = shrink(program, found)
                    shrinks -= 1
                row["kind"] = found.kind
                row |= {"call": found.call, "text": found.text, "program": str(program)}
        except Exception as error:
            row |= {"kind": "harness", "text": repr(error), "program": str(program), "call": 0}
        print(json.dumps(row), flush=True)


def batches(options: argparse.Namespace) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    begin, end = options.begin, options.begin + options.examples
    started = time.monotonic()
    while begin < end and time.monotonic() - started < options.seconds:
        stop = min(begin + BATCH, end)
        command = [
            sys.executable,
            "-m",
            __spec__.name,
            "--batch",
            f"{options.seed},{begin},{stop},{options.shrink}",
        ]
        reason, current = "", begin - 1
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600)
            output, errors, code = done.stdout, done.stderr, done.returncode
        except subprocess.TimeoutExpired as expired:
            output, errors, code = (expired.stdout or b"").decode(), "hang", -1
        for line in output.splitlines():
            row = json.loads(line) if line.startswith("{") else {}
            if "begin" in row:
                current = row["begin"]
            elif "index" in row:
                rows.append(row)
        begin = stop
        if code:
            reason = f"exit {code}: {errors[-1500:]}"
            program = str(generate(seeded((options.seed, current))))
            rows.append({"index": current, "calls": 0, "kind": "crash", "call": 0, "text": reason,
                         "program": program})  # fmt: skip
            begin = current + 1
        if options.verbose:
            print(f"{begin - options.begin} programs, {sum('kind' in r for r in rows)} differences",
                  file=sys.stderr, flush=True)  # fmt: skip
    return rows


def report(rows: list[dict[str, Any]]) -> str:
    """Return the statistics and the failing programs, one of each sort."""
    ran = [row for row in rows if "hits" in row]
    calls, hits = sum(r["calls"] for r in ran), sum(r["hits"] for r in ran)
    whole = sum(not r["reasons"] for r in ran)
    failures = [row for row in rows if "kind" in row]
    reasons = collections.Counter(reason for r in ran for reason in set(r["reasons"]))
    lines = [
        f"programs {len(rows)}, calls {calls}, replayed {hits} ({hits / max(calls, 1):.0%})",
        f"captured without fallback {whole} ({whole / max(len(ran), 1):.0%})",
        f"differences {len(failures)}: {dict(collections.Counter(r['kind'] for r in failures))}",
        "",
        *[f"{n:6} {reason}" for reason, n in reasons.most_common(25)],
    ]
    alike: dict[str, list[dict[str, Any]]] = collections.defaultdict(list)
    for row in sorted(failures, key=lambda row: len(row["program"])):
        alike[row["kind"] + re.sub(r"[-\d.e+]+|array.*", "", row["text"], flags=re.S)].append(row)
    # The smallest program of each sort of failure; the most frequent sorts first.
    for rows in sorted(alike.values(), key=len, reverse=True):
        row = rows[0]
        title = f"# program {row['index']}: {row['kind']} at call {row['call']}; {len(rows)} alike"
        text = [f"# {line}" for line in row["text"].splitlines()]
        lines += ["", "-" * 80, title, *text, row["program"]]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--begin", type=int, default=0, help="index of the first program")
    parser.add_argument("--shrink", type=int, default=3, help="failures to shrink per batch")
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no batch after these")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--batch", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        one_batch(*map(int, options.batch.split(",")))
        return
    rows = batches(options)
    print(report(rows))
    sys.exit(any("kind" in row for row in rows))


if __name__ == "__main__":
    main()
