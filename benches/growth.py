#!/usr/bin/env python3
"""What a record costs as the store grows: ingest, optimize, size and queries at 1, 5, 20, 52 and 200 million.

    python3 benches/growth.py WORK [--tasks 45,224,895,2308,8950] [--generator FILE] [--tsql FILE]

Each store is made by the generator in WORK/tasks-N (a task has some 22,300 records on six platforms), so
ingest is the whole command over JSON lines, platform by platform as TenSet comes: two of three records
have programs that the store knows. What it costs is told as time of the processors, so that a long run may share
the machine, without the time that the generator takes to write the logs. Memory is the greatest resident set of
any one command. A store that is there already is only asked.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

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
MEASURED = """#!/usr/bin/env python3
# tsql, telling what it took on standard error.
import resource, subprocess, sys
code = subprocess.call(["{tsql}", *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("used", used.ru_utime + used.ru_stime, "s", used.ru_maxrss / 1024, "MB", file=sys.stderr)
sys.exit(code)
"""


def measured(command):
    """Processor seconds and greatest memory in MB of each tsql that a command runs, and its standard error."""
    done = subprocess.run([str(part) for part in command], stderr=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    used = [(float(cpu), float(memory)) for cpu, memory in re.findall(r"^used ([\d.]+) s ([\d.]+) MB$", done.stderr, re.MULTILINE)]
    return sum(cpu for cpu, _ in used), max(memory for _, memory in used), done.stderr


def size(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())


def made(store, tasks, generator, tsql):
    """Makes the store; what that took."""
    wrapped = store.parent / "tsql-measured"
    wrapped.write_text(MEASURED.format(tsql=tsql))
    wrapped.chmod(0o755)
    command = [generator, "--store", store, "--tsql", wrapped, "--tasks", tasks, "--scratch", store.parent]
    ingest_s, ingest_mb, said = measured(command)
    lines = re.findall(r"^bytes +([\d.]+) (\w+) in, .* ([\d.]+) s$", said, re.MULTILINE)
    optimize_s, optimize_mb, _ = measured([wrapped, "--store", store, "optimize"])
    measured([wrapped, "--store", store, "vacuum", "--retain", "0s"])
    return {
        "ingest_s": ingest_s,
        "ingest_mb": ingest_mb,
        "text": sum(float(count) * UNITS[unit] for count, unit, _ in lines),
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
        # Under a limit no columns are kept: what is read counts.
        engine = Tsql(options.tsql, str(store), ["--memory-limit", "64GB"], asked=2)
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

    row("ingest, MB of text per processor second", lambda n, c, b, t: f"{c['text'] / c['ingest_s'] / 1e6:.0f}")
    row("ingest, processor µs a record", lambda n, c, b, t: f"{c['ingest_s'] / n * 1e6:.1f}")
    row("ingest, most memory, MB", lambda n, c, b, t: f"{c['ingest_mb']:.0f}")
    row("optimize, processor µs a record", lambda n, c, b, t: f"{c['optimize_s'] / n * 1e6:.1f}")
    row("optimize, most memory, MB", lambda n, c, b, t: f"{c['optimize_mb']:.0f}")
    row("bytes a record", lambda n, c, b, t: f"{b / n:.2f}")
    for question in ASKED:
        row(f"{question}, ms", lambda n, c, b, t: f"{t[question] * 1000:.1f}")


if __name__ == "__main__":
    main()
