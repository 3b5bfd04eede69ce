#!/usr/bin/env python3
"""What a line costs that is appended and acknowledged, and the first question, where the tables have had many commits.

    python3 benches/commits.py WORK [--commits 10,1000,100000] [--log FILE] [--tsql FILE]

WORK/commits-N is a store with twenty records whose tables of records, configurations and sources have N commits each: the first by tsql, the
others entries of their logs without rows, written here, with a checkpoint by delta-rs at their end. Then lines of a
real log are appended, each by a process of its own: 25 of them, so that every kind of commit is among them (each tenth writes a
checkpoint). Beside it delta-rs appends rows to one table of its own with as many commits, each in a process, too, of which only the call is timed. What
is told is the time on the clock and of the processors, median (least-greatest).
"""

import argparse
import json
import os
import pathlib
import resource
import shutil
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
SHARED = HERE.parent.parent / "shared" / "data" / "tenset" / "x86" / "x86_resnet18.json"
TABLES = ["records", "configurations", "sources"]
RECORDS = 20
LINES = 25
STREAMS = 100
APPEND = """
import json, sys, time
import pyarrow
from deltalake import write_deltalake
row = pyarrow.table({"config_id": [1], "runtime_ns": [1.0], "platform": ["x86"]})
begin, used = time.monotonic(), time.process_time()
write_deltalake(sys.argv[1], row, mode="append")
print(json.dumps([time.monotonic() - begin, time.process_time() - used]))
"""


def used(command, text=""):
    """Seconds on the clock and of the processors."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run([str(part) for part in command], input=text, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - begin, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def told(samples):
    milliseconds = sorted(1000 * sample for sample in samples)
    return f"{statistics.median(milliseconds):.0f} ({milliseconds[0]:.0f}-{milliseconds[-1]:.0f})"


def commit(log, commits):
    """Entries without rows up to a number of commits, and a checkpoint."""
    from deltalake import DeltaTable

    first = 1 + max(int(entry.stem) for entry in log.glob("0*.json"))
    now = int(time.time() * 1000)
    info = json.dumps({"commitInfo": {"timestamp": now, "operation": "WRITE", "operationParameters": {"mode": "Append"}}})
    for version in range(first, commits):
        transaction = {"txn": {"appId": f"source:{version % STREAMS:016x}", "version": version, "lastUpdated": now}}
        (log / f"{version:020}.json").write_text(f"{info}\n{json.dumps(transaction)}")
    DeltaTable(str(log.parent)).create_checkpoint()


def made(options, commits):
    """A store with that many commits, and a table of delta-rs."""
    store, table = options.work / f"commits-{commits}", options.work / f"delta-{commits}"
    for folder in (store, table):
        shutil.rmtree(folder, ignore_errors=True)
    lines = options.log.read_text().splitlines(keepends=True)
    subprocess.run([options.tsql, "--store", store, "ingest", "--quiet", "-", "--platform", "x86"], input="".join(lines[:RECORDS]), text=True, check=True, stderr=subprocess.PIPE)
    subprocess.check_output([sys.executable, "-c", APPEND, str(table)])
    for log in [store / name / "_delta_log" for name in TABLES] + [table / "_delta_log"]:
        commit(log, commits)
    return store, table, lines[RECORDS : RECORDS + LINES]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--commits", type=lambda text: [int(count) for count in text.split(",")], default=[10, 1000, 100_000])
    parser.add_argument("--log", type=pathlib.Path, default=SHARED)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    print("| commits of each table | `append --ack`, ms | processors | first question, ms | delta-rs appends, ms | processors |")
    print("|---|---|---|---|---|---|")
    for commits in options.commits:
        store, table, lines = made(options, commits)
        appended = [
            used([options.tsql, "--store", store, "append", "--ack", "--stream", f"s{number}", "--platform", "x86"], line)
            for number, line in enumerate(lines)
        ]
        asked = [used([options.tsql, "--store", store, "SELECT count(*), max(runtime_ns) FROM records"]) for _ in range(LINES)]
        others = [json.loads(subprocess.check_output([sys.executable, "-c", APPEND, str(table)])) for _ in range(LINES)]
        cells = [told(column) for column in [*zip(*appended), next(zip(*asked)), *zip(*others)]]
        print(f"| {commits:,} | {' | '.join(cells)} |", flush=True)


main()
