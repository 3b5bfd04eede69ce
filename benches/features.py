#!/usr/bin/env python3
"""How fast programs become features: tsql beside upstream's Python.

    python3 benches/features.py LOGS... [--kind llvm] [--store STORE --tsql FILE] [--rounds 5]

LOGS are auto_scheduler logs of one kind of target. Programs a second of

- TLP's own way (tlp_make_dataset.py:37-74), its rules in 25 lines, on one thread;
- the library's functions, built for release (`benches/features`), on one thread and on two;
- with --store: `tsql "SELECT sum(tlp_tokens(...)[6])"` over all configurations of a store, on two threads, beside the same question
  about the text of the steps, which is what it takes to unpack them.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))

LLVM = dict(kinds="CI RE AN RF CHW SP CR CA FU FSP PR".split(), unroll=["16", "0", "512", "64"], shape=(25, 22))
CUDA = dict(kinds="AN CHR CHW CI CA FFSP SP FU RE PR FSP".split(), unroll=["0", "16", "64", "1024", "512"], shape=(40, 20))
SCOPES = {"local": 1, "shared": 2, "global": 3}


def tokens(steps, kinds, unroll, shape):
    """The rows of a program, as upstream makes them."""
    rows = []
    for step in steps:
        row = [0] * 11
        if step[0] in kinds:
            row[kinds.index(step[0])] = 1
        for argument in step[1:]:
            if isinstance(argument, list):
                row += argument
            elif isinstance(argument, str):
                if step[0] == "CHR":
                    row.append(1)
                elif step[0] == "PR":
                    value = argument.split("$")[1]
                    row.append(unroll.index(value) + 1 if value in unroll else 0)
                else:
                    row.append(SCOPES.get(argument, 0))
            else:
                row.append(argument)
        rows.append((row + [0] * shape[1])[: shape[1]])
    return (rows + [[0] * shape[1]] * shape[0])[: shape[0]]


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=pathlib.Path)
    parser.add_argument("--kind", choices=["llvm", "cuda"], default="llvm")
    parser.add_argument("--store")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    table = LLVM if options.kind == "llvm" else CUDA
    lines = []
    for log in options.logs:
        for line in log.read_text().splitlines():
            if line.startswith("{"):
                lines.append(json.dumps(json.loads(line)["i"][1][1]))
    print(f"{len(lines)} programs, {sum(map(len, lines)) / len(lines):.0f} bytes of steps each\n")
    print("| | programs a second | least | greatest |\n|---|---|---|---|")

    def told(name, rates):
        print(f"| {name} | {statistics.median(rates):,.0f} | {min(rates):,.0f} | {max(rates):,.0f} |", flush=True)

    work = lambda: [tokens(json.loads(line), **table) for line in lines]
    told("tlp_tokens, upstream's Python, 1 thread", [len(lines) / seconds(work) for _ in range(options.rounds)])
    with tempfile.TemporaryDirectory() as folder:
        steps = pathlib.Path(folder) / "steps"
        steps.write_text("\n".join(lines))
        build = ["cargo", "build", "--release", "--quiet", "--manifest-path", HERE / "features" / "Cargo.toml"]
        built = pathlib.Path(folder) / "target"
        subprocess.run([*build, "--target-dir", built], check=True)
        for threads in (1, 2):
            repeats = max(1, 200_000 // len(lines))
            command = [built / "release" / "features", options.kind, str(threads), str(repeats), steps]
            rates = {}
            for _ in range(options.rounds):
                for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines():
                    name, rate = line.split()
                    rates.setdefault(name, []).append(float(rate))
            for name, own in rates.items():
                told(f"{name}, the library, {threads} thread{'s' * (threads > 1)}", own)
    if options.store:
        ask = lambda sql: json.loads(
            subprocess.run(
                [options.tsql, "--store", options.store, "--format", "json", sql], check=True, capture_output=True, text=True
            ).stdout
        )
        count = ask("SELECT count(*) AS n FROM configurations")[0]["n"]
        for name, sql in [
            ("the text of the steps, a process", "SELECT sum(length(steps)) FROM configurations"),
            ("tlp_tokens, a process", f"SELECT sum(tlp_tokens(steps, '{options.kind}')[6]) FROM configurations"),
        ]:
            told(f"{name}, 2 threads", [count / seconds(lambda: ask(sql)) for _ in range(options.rounds)])


if __name__ == "__main__":
    main()
