#!/usr/bin/env python3
"""GraphNet: how small tsql keeps samples, how fast it takes them in and gives one back, beside
its peers, in one run.

    cargo build --release
    python3 benches/graphnet.py [FOLDER | ARCHIVE] [--logs FOLDER] [--rounds 5] [--sizes]
                                                            # default: the shared real files

Needs zstd and tar.

Size, in bytes: the files as a tar, that tar under `zstd -3`, `-19` and `-19 --long=27`; the data
files of the store before and after `tsql optimize`, the whole folder after `tsql vacuum`, and each
table. First for each kind by itself (torch, paddle, benchmark logs), beside `zstd -19` of that kind.
What a store costs that holds next to nothing is in there: a handful of logs is smaller than the
footers of its tables. So logs are measured a second time as a pile of them, the real ones `--times`
over, each time with other times and the statistics that follow from these.

Speed (medians of interleaved rounds, least and greatest beside them), in MB of file bytes a second:
`ast.parse` of CPython over every model.py (in one process, files already read) is the peer for
parsing alone; `zstd -3` of the tar for packing alone; tsql is the whole command: read, parse, hash,
rebuild and compare, deduplicate, Parquet, logs, fsync, on one thread and on all. Also its greatest
memory (resident set).

One sample back, in ms: `tsql export --where` and `tar -x` of its folder from the tar.zst.
"""

import argparse
import ast
import json
import os
import pathlib
import random
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
TSQL = TARGET / "release" / "tsql"
SHARED = HERE.parent.parent / "shared/data/graphnet/samples.tar.zst"
LOGS = SHARED.parent / "logs"


def run(command, **more):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, **more)


def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ingest(folders, threads, store):
    shutil.rmtree(store, ignore_errors=True)
    command = [TSQL, "ingest", "--quiet", "--store", store, "--threads", threads, *folders]
    return timed(lambda: run(command))


def memory_of_ingest(folders, store):
    """Greatest resident set of one ingest in MB, by a child of its own."""
    if (pid := os.fork()) == 0:
        ingest(folders, os.cpu_count(), store)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        pathlib.Path(f"{store}.memory").write_text(str(usage / 1e3))
        os._exit(0)
    os.waitpid(pid, 0)
    return float(pathlib.Path(f"{store}.memory").read_text())


def data_bytes(store):
    sizes = {}
    for path in store.rglob("*.parquet"):
        table = path.relative_to(store).parts[0]
        sizes[table] = sizes.get(table, 0) + path.stat().st_size
    return sizes


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def again(run, draw):
    """A run of a log as if it were measured once more: other times, and statistics that follow from them."""
    blocks, means = [], {}
    digits = lambda value: float(f"{value:.6g}")

    def trial(found):
        if found[1] == "1":
            blocks.append({"e2e": [], "gpu": []})
        line = f"Trial {found[1]}:"
        for place, (clock, text) in enumerate(re.findall(r"(e2e|gpu)=([\d.]+)", found[2])):
            value = float(text) * draw.gauss(1, 0.02)
            blocks[-1][clock].append(value)
            line += f"{',' * place} {clock}={value:.{len(text.split('.')[1])}f} ms"
        return line

    def performance(found):
        clocks = json.loads(found[2])
        own = (blocks[0] if found[1] == "eager" and len(blocks) > 1 else blocks[-1]) if blocks else {}
        for clock, old in clocks.items():
            if (times := own.get(clock)) and not (found[1] == "eager" and len(blocks) == 1):
                new = {"mean": statistics.mean(times), "std": statistics.stdev(times), "min": min(times), "max": max(times)}
                quartiles = statistics.quantiles(times, method="inclusive")
                new |= {"median": quartiles[1], "iqr": quartiles[2] - quartiles[0]}
            else:
                factor = draw.gauss(1, 0.02)
                new = {field: value * factor for field, value in old.items()}
            clocks[clock] = {field: digits(new[field]) for field in old}
            means[found[1], clock] = clocks[clock]["mean"]
        return f"[Performance][{found[1]}]: {json.dumps(clocks)}"

    def speedup(found):
        eager, compiled = means.get(("eager", found[1])), means.get(("compiled", found[1]))
        return f"[Speedup][{found[1]}]: {eager / compiled:.5f}" if eager and compiled else found[0]

    run = re.sub(r"Trial (\d+):(.*)", trial, run)
    run = re.sub(r"\[Performance\]\[(\w+)\]: (\{.*\})", performance, run)
    return re.sub(r"\[Speedup\]\[(\w+)\]: [\d.]+", speedup, run)


def many_logs(logs, times, folder):
    """The logs so many times over, each time measured anew, the same on every machine."""
    draw = random.Random(7)
    for turn in range(times):
        for log in sorted(logs.iterdir()):
            runs = re.split(r"(?m)^(?=.*\[Processing\])", log.read_text())
            target = folder / f"{turn:03}" / log.name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(again(run, draw) for run in runs))
    return folder


def by_kind(root, logs, times, work):
    kinds = {"torch": [root / "samples"], "paddle": [root / "paddle_samples"], "logs": [logs]}
    kinds = {kind: [one for one in paths if one.is_dir()] for kind, paths in kinds.items()}
    kinds["all"] = [one for paths in kinds.values() for one in paths]
    if logs.is_dir():
        kinds[f"logs, {times} times"] = [many_logs(logs, times, work / "many")]
    print("| kind | files, bytes | zstd -19 of the tar | data files after optimize | of zstd -19 | whole folder | of zstd -19 |")
    print("|---|---|---|---|---|---|---|")
    for kind, paths in kinds.items():
        if not paths:
            continue
        tar = subprocess.Popen(
            ["tar", "cf", "-", "--sort=name", *(part for one in paths for part in ("-C", one.parent, one.name))],
            stdout=subprocess.PIPE,
        )
        packed = len(subprocess.run(["zstd", "-19", "-q", "-c"], stdin=tar.stdout, check=True, capture_output=True).stdout)
        store = work / "kind"
        ingest(paths, os.cpu_count(), store)
        run([TSQL, "--store", store, "optimize"])
        run([TSQL, "--store", store, "vacuum", "--retain", "0s"])
        data, folder = sum(data_bytes(store).values()), folder_bytes(store)
        raw = sum(folder_bytes(one) for one in paths)
        print(f"| {kind} | {raw:,} | {packed:,} | {data:,} | {data / packed:.2f} | {folder:,} | {folder / packed:.2f} |")
    print()


def sizes(root, work):
    tar = work / "samples.tar"
    run(["tar", "cf", tar, "-C", root, "."])
    rows = [("tar", tar.stat().st_size)]
    for options in (["-3"], ["-19"], ["-19", "--long=27"]):
        packed = work / "packed.zst"
        run(["zstd", "-f", "-q", "-T0", *options, tar, "-o", packed])
        rows.append((f"tar | zstd {' '.join(options)}", packed.stat().st_size))
    store = work / "store"
    ingest(sorted(root.iterdir()), os.cpu_count(), store)
    rows.append(("tsql, data files as ingested", sum(data_bytes(store).values())))
    seconds = timed(lambda: run([TSQL, "--store", store, "optimize"]))
    run([TSQL, "--store", store, "vacuum", "--retain", "0s"])
    tables = data_bytes(store)
    rows.append((f"tsql, data files after optimize ({seconds:.0f} s)", sum(tables.values())))
    rows.append(("tsql, whole folder with logs", folder_bytes(store)))
    rows.extend((f"  of it {table}", size) for table, size in sorted(tables.items()))
    base = dict(rows)["tar | zstd -19"]
    print(f"| bytes | | of zstd -19 |\n|---|---|---|\n| all files | {folder_bytes(root):,} | |")
    for name, size in rows:
        print(f"| {name} | {size:,} | {size / base:.2f} |")
    return store, tar


def speed(root, tar, work, rounds):
    models = [path.read_text() for path in root.rglob("model.py")]
    model_bytes = sum(len(text) for text in models)
    total = folder_bytes(root)

    def parse():
        for text in models:
            ast.parse(text)

    folders = sorted(root.iterdir())
    peers = {
        "CPython ast.parse, model.py only": (model_bytes, lambda: timed(parse)),
        "zstd -3 of the tar, 1 thread": (
            total,
            lambda: timed(lambda: run(["zstd", "-f", "-q", "-3", tar, "-o", work / "speed.zst"])),
        ),
        "tsql ingest, 1 thread": (total, lambda: ingest(folders, 1, work / "speed")),
        f"tsql ingest, {os.cpu_count()} threads": (
            total,
            lambda: ingest(folders, os.cpu_count(), work / "speed"),
        ),
    }
    seconds = {name: [] for name in peers}
    for _ in range(rounds):
        for name, (_, action) in peers.items():
            seconds[name].append(action())
    print("\n| MB/s | median | least | greatest |\n|---|---|---|---|")
    for name, times in seconds.items():
        rates = [peers[name][0] / 1e6 / one for one in times]
        print(f"| {name} | {statistics.median(rates):.0f} | {min(rates):.0f} | {max(rates):.0f} |")
    print(f"\npeak memory of ingest: {memory_of_ingest(folders, work / 'memory'):.0f} MB")


def one_back(root, store, work, rounds):
    sample = next(path.parent for path in sorted(root.rglob("graph_net.json")) if "resnet" in str(path))
    name = str(sample.relative_to(root))
    packed = work / "one.tar.zst"
    run(["tar", "--zstd", "-cf", packed, "-C", root, "."])
    peers = {
        "tar -x from tar.zst": lambda: run(["tar", "--zstd", "-xf", packed, "-C", work, f"./{name}"]),
        "tsql export --where": lambda: run(
            [TSQL, "--store", store, "export", "--to", work / "one", "--where", f"path = '{name}'"]
        ),
    }
    seconds = {peer: [] for peer in peers}
    for _ in range(rounds):
        for peer, action in peers.items():
            seconds[peer].append(timed(action) * 1e3)
    print("\n| one sample back, ms | median | least | greatest |\n|---|---|---|---|")
    for peer, times in seconds.items():
        print(f"| {peer} | {statistics.median(times):.0f} | {min(times):.0f} | {max(times):.0f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", nargs="?", type=pathlib.Path, default=SHARED)
    parser.add_argument("--logs", type=pathlib.Path, default=LOGS)
    parser.add_argument("--times", type=int, default=40, help="how often the logs are repeated for a pile of them")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", action="store_true", help="only the sizes by kind")
    options = parser.parse_args()
    if not options.source.exists():
        sys.exit(f"no {options.source}: name a folder of samples or an archive of one")
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        root = options.source
        if root.is_file():
            root = work / "files"
            root.mkdir()
            run(["tar", "xf", options.source, "-C", root])
        by_kind(root, options.logs, options.times, work)
        if options.sizes:
            return
        store, tar = sizes(root, work)
        speed(root, tar, work, options.rounds)
        one_back(root, store, work, options.rounds)


if __name__ == "__main__":
    main()
