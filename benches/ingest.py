#!/usr/bin/env python3
"""How fast tsql ingests tuning logs and how small its store is, beside its peers, in one run.

    cargo build --release
    python3 benches/ingest.py [--logs DIR ...] [--copies 32] [--rounds 5]

Speed, in MB of log text a second (medians of interleaved rounds, least and greatest beside them):
the limit is sonic-rs and simd-json parsing every line into a document on one thread, nothing more;
the peer is DuckDB copying the same files from JSON to Parquet (PyPI `duckdb`, needed for that row),
on one thread and on all cores; tsql is the whole command: start, parse, proof of every line,
deduplication, Parquet, logs, fsync.

The real logs are short (6 MB), so they are enlarged: of every file `--copies` variants are made in
which the first length of each `SP` step is multiplied by 1, 2, 3, ... Everything else stays, so
that every variant's programs are new to the store, which is the slow case.

Size, in bytes: the data files of the store after `tsql optimize`, and the whole folder after
`tsql vacuum`, beside the sum of the single files under `zstd -19` and `xz -9e` (both commands are
needed for their rows).
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
TSQL = TARGET / "release" / "tsql"
SPLIT = re.compile(rb'(\["SP", \d+, \d+, \d+, \[)(\d+)')


def logs(folders):
    found = []
    for folder in folders:
        for path in sorted(pathlib.Path(folder).rglob("*")):
            if path.is_file() and path.suffix != ".pkl" and path.name[0] != ".":
                head = [line for line in path.open("rb").read(4096).split(b"\n") if line[:1] == b"{"]
                if head and head[0].startswith(b'{"i": [['):
                    found.append(path)
    return found


def enlarge(files, copies, folder):
    """Writes the variants; returns the folders that hold them."""
    folders = set()
    for path in files:
        text = path.read_bytes()
        target = folder / path.parent.name
        target.mkdir(exist_ok=True)
        folders.add(target)
        for copy in range(copies):
            factor = copy + 1
            grow = lambda match: match[1] + str(int(match[2]) * factor).encode()
            (target / f"v{copy}_{path.name}").write_bytes(SPLIT.sub(grow, text))
    return sorted(folders)


def run(command, **more):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, **more)


def ingest(folders, threads, store):
    shutil.rmtree(store, ignore_errors=True)
    start = time.perf_counter()
    run([TSQL, "ingest", "--quiet", "--store", store, "--threads", threads, *folders])
    return time.perf_counter() - start


def duckdb_copy(files, threads, target):
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads = {threads}")
    sql = (
        f"COPY (SELECT * FROM read_json(?, format = 'newline_delimited', ignore_errors = true)) "
        f"TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
    )
    start = time.perf_counter()
    connection.execute(sql, [[str(path) for path in files]])
    return time.perf_counter() - start


def parsers(binary, files):
    lines = run([binary, *files]).stdout.decode().split("\n")
    return {name: float(seconds) for name, seconds in (line.split() for line in lines if line)}


def speed(folders, rounds, scratch):
    files = logs(folders)
    megabytes = sum(path.stat().st_size for path in files) / 1e6
    binary = None
    if shutil.which("cargo"):
        build = ["cargo", "build", "--quiet", "--release", "--manifest-path"]
        target = TARGET / "parse_limit"
        run([*build, HERE / "parse_limit" / "Cargo.toml", "--target-dir", target])
        binary = target / "release" / "parse_limit"
    cores = os.cpu_count()
    try:
        import duckdb

        peer = f"DuckDB {duckdb.__version__}"
    except ImportError:
        peer = None
        print("no Python package duckdb: its rows are left out", file=sys.stderr)
    seconds = {}
    for _ in range(rounds):
        if binary:
            for name, taken in parsers(binary, files).items():
                seconds.setdefault(f"{name}, parse only, 1 thread", []).append(taken)
        for threads in sorted({1, cores}):
            if peer:
                row = f"{peer} JSON to Parquet, {threads} threads"
                seconds.setdefault(row, []).append(
                    duckdb_copy(files, threads, scratch / "peer.parquet")
                )
            row = f"tsql ingest, {threads} parsing threads"
            seconds.setdefault(row, []).append(ingest(folders, threads, scratch / "store"))
    print(f"\nspeed: {len(files)} files, {megabytes:.0f} MB, {rounds} rounds, {cores} cores")
    print(f"{'':44} {'MB/s':>8} {'least':>8} {'greatest':>9}")
    for row, taken in seconds.items():
        rates = sorted(megabytes / second for second in taken)
        print(f"{row:44} {statistics.median(rates):8.1f} {rates[0]:8.1f} {rates[-1]:9.1f}")


def compressed(command, files):
    if not shutil.which(command[0]):
        return None
    return sum(len(run([*command, path]).stdout) for path in files)


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def size(folders, scratch, title):
    files = logs(folders)
    raw = sum(path.stat().st_size for path in files)
    records = sum(
        line[:1] == b"{" for path in files for line in path.read_bytes().split(b"\n")
    )
    store = scratch / "store"
    ingest(folders, os.cpu_count(), store)
    run([TSQL, "optimize", "--store", store])
    run([TSQL, "vacuum", "--retain", "0s", "--store", store])
    data = sum(path.stat().st_size for path in store.glob("*/**/*.parquet") if "_delta_log" not in str(path))
    rows = [
        ("raw", raw),
        ("zstd -19, file by file", compressed(["zstd", "-19", "-c"], files)),
        ("xz -9e, file by file", compressed(["xz", "-9e", "-k", "-c"], files)),
        ("tsql, data files", data),
        ("tsql, whole folder", folder_bytes(store)),
    ]
    best = rows[1][1]
    print(f"\nsize: {title}, {len(files)} files, {records} records")
    print(f"{'':44} {'bytes':>12} {'a record':>9} {'of zstd':>8}")
    for name, count in rows:
        if count is not None:
            ratio = f"{count / best:8.3f}" if best else ""
            print(f"{name:44} {count:12} {count / records:9.1f} {ratio}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    shared = HERE.parent.parent / "shared" / "data" / "tenset"
    default = [shared / name for name in ("a100", "x86", "k80", "tutorial-logs")]
    if not shared.is_dir():
        default = sorted(path for path in (HERE.parent / "data").iterdir() if path.is_dir())
        print("no shared logs here: the project's own sample is taken", file=sys.stderr)
    parser.add_argument("--logs", nargs="+", type=pathlib.Path, default=default)
    parser.add_argument("--copies", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(run([TSQL, "--version"]).stdout.decode().strip())
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        (scratch / "logs").mkdir()
        folders = enlarge(logs(options.logs), options.copies, scratch / "logs")
        speed(folders, options.rounds, scratch)
        size(options.logs, scratch, "the logs as they are")
        size(folders, scratch, f"enlarged {options.copies} times")


if __name__ == "__main__":
    main()
