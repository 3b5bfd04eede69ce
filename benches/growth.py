#!/usr/bin/env python3
"""What a record costs as the store grows: ingest, optimize, size and queries at 1, 5, 20, 52 and 200 million.

    python3 benches/growth.py WORK [--tasks 45,224,895,2308,8950] [--generator FILE] [--tsql FILE]

Each store is made by the generator in WORK/tasks-N (a task has some 22,300 records on six platforms), so
ingest is the whole command over JSON lines, platform by platform as TenSet comes: five of six records
have programs that the store knows. Its time is what `tsql ingest` says itself, without the time that the
generator takes to write the logs. Memory is the greatest resident set of any one command. A store that
is there already is only asked.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "race"))

from engines import Tsql  # noqa: E402
from questions import QUESTIONS, words  # noqa: E402
from run import example_values  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
ASKED = [
    "group by platform: count, avg, errors",
    "one graph on one platform",
    "fastest program of each graph (arg-min)",
    "join k80 with t4 on configuration, correlation",
    "labels, five networks held out",
    "noise of the repeats by platform",
]
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}


def measured(command):
    """Seconds, greatest memory in MB and standard error of a command and its children."""
    begin = time.perf_counter()
    with subprocess.Popen([str(part) for part in command], stderr=subprocess.PIPE, text=True) as process:
        errors = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(errors)
    return time.perf_counter() - begin, usage.ru_maxrss / 1024, errors


def size(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())


def made(store, tasks, generator, tsql):
    """Makes the store; what that took."""
    command = [generator, "--store", store, "--tsql", tsql, "--tasks", tasks, "--scratch", store.parent]
    _, memory, said = measured(command)
    lines = re.findall(r"^bytes +([\d.]+) (\w+) in, .* ([\d.]+) s$", said, re.MULTILINE)
    text = sum(float(count) * UNITS[unit] for count, unit, _ in lines)
    seconds = sum(float(each) for _, _, each in lines)
    optimize_s, optimize_mb, _ = measured([tsql, "--store", store, "optimize"])
    measured([tsql, "--store", store, "vacuum", "--retain", "0s"])
    return {
        "ingest_s": seconds,
        "ingest_mb": memory,
        "text": text,
        "optimize_s": optimize_s,
        "optimize_mb": optimize_mb,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--tasks", default="45,224,895,2308,8950")
    parser.add_argument("--generator", default="tenset_generate")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    table = []
    for tasks in options.tasks.split(","):
        store = (options.work / f"tasks-{tasks}").resolve()
        notes = store.with_suffix(".json")
        if not notes.exists():
            notes.write_text(json.dumps(made(store, tasks, options.generator, options.tsql)))
        costs = json.loads(notes.read_text())
        engine = Tsql(options.tsql, str(store))
        records = engine.ask("SELECT count(*) FROM records")["rows"][0][0]
        values = example_values(options.tsql, str(store))
        times = {}
        for question in ASKED:
            sql = words(question, "tsql").format(**values)
            times[question] = statistics.median(engine.ask(sql)["seconds"] for _ in range(3))
        table.append((records, costs, size(store), times))
        print(f"{records:,} records: {costs} {times}", flush=True)
    print("\n| records | " + " | ".join(f"{records / 1e6:.1f} M" for records, *_ in table) + " |")
    print("|---" * (len(table) + 1) + "|")

    def row(name, of):
        print(f"| {name} | " + " | ".join(of(*each) for each in table) + " |")

    row("ingest, MB/s of text", lambda n, c, b, t: f"{c['text'] / c['ingest_s'] / 1e6:.0f}")
    row("ingest, µs a record", lambda n, c, b, t: f"{c['ingest_s'] / n * 1e6:.1f}")
    row("ingest, most memory, MB", lambda n, c, b, t: f"{c['ingest_mb']:.0f}")
    row("optimize, µs a record", lambda n, c, b, t: f"{c['optimize_s'] / n * 1e6:.1f}")
    row("optimize, most memory, MB", lambda n, c, b, t: f"{c['optimize_mb']:.0f}")
    row("bytes a record", lambda n, c, b, t: f"{b / n:.2f}")
    for question in ASKED:
        row(f"{question}, ms", lambda n, c, b, t: f"{t[question] * 1000:.1f}")


if __name__ == "__main__":
    main()
