#!/usr/bin/env python3
"""Copying a store beside exporting all of its files and ingesting them again.

    python3 benches/copy.py WORK [--tasks 224] [--runs 3] [--generator FILE] [--tsql FILE]

224 tasks of each kind of target are 5 million records on six platforms. They go into an empty store, and into one that
has half of the platforms and so knows the programs of the others. Seconds on the clock, median of the runs with the least and
the greatest. What is copied is compared with what is ingested: rows, sums, distinct programs.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
HALF = ["k80", "t4", "e5-2673"]
ALL = """SELECT platform, count(*), round(sum(runtime_ns) / 1e6), count(DISTINCT graph_id) FROM records GROUP BY 1 ORDER BY 1"""
PROGRAMS = "SELECT count(*) FROM configurations"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--tasks", default="224")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--generator", default="tenset_generate")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    work = options.work
    work.mkdir(parents=True, exist_ok=True)

    def tsql(*args):
        done = subprocess.run([options.tsql, *map(str, args)], capture_output=True, text=True)
        if done.returncode:
            sys.exit(done.stderr)
        return done.stdout

    def made(name, *args):
        store = work / name
        if not store.exists():
            command = [options.generator, "--store", store, "--tsql", options.tsql, "--tasks", options.tasks, "--scratch", work, *args]
            subprocess.run([str(part) for part in command], check=True, stderr=subprocess.DEVNULL)
        return store

    def timed(*args):
        started = time.perf_counter()
        tsql(*args)
        return time.perf_counter() - started

    def shown(times):
        return f"{statistics.median(times):.1f} ({min(times):.1f}-{max(times):.1f})"

    whole = made("whole")
    half = made("half", "--platforms", ",".join(HALF))
    records = int(tsql("--store", whole, "SELECT count(*) FROM records").split()[1])
    times = {"empty": [], "half": [], "export": [], "ingest": []}
    answers = set()
    for _ in range(options.runs):
        for kind in ("empty", "half", "again"):
            for name in ("copied", "back"):
                if kind != "again" or name == "copied":
                    shutil.rmtree(work / name, ignore_errors=True)
            if kind == "again":
                times["export"].append(timed("--store", whole, "export", "--to", work / "back"))
                times["ingest"].append(timed("--store", work / "copied", "ingest", "-q", work / "back"))
            else:
                if kind == "half":
                    shutil.copytree(half, work / "copied")
                times[kind].append(timed("copy", whole, work / "copied"))
            answers.add(tsql("--store", work / "copied", ALL) + tsql("--store", work / "copied", PROGRAMS))
    shutil.rmtree(work / "back", ignore_errors=True)
    shutil.rmtree(work / "copied", ignore_errors=True)
    assert len(answers) == 1, answers
    both = [export + ingest for export, ingest in zip(times["export"], times["ingest"])]
    print(f"{records:,} records, {options.runs} runs\n")
    print("| | seconds | export and ingest / it |\n|---|---|---|")
    for name, own in (("copy into an empty store", times["empty"]), ("copy into a store with half of the platforms", times["half"])):
        ratio = statistics.median(both) / statistics.median(own)
        print(f"| {name} | {shown(own)} | {ratio:.1f} |")
    print(f"| export, then ingest into an empty store | {shown(both)} | 1 |")
    print(f"| of these, export | {shown(times['export'])} | |")


if __name__ == "__main__":
    main()
