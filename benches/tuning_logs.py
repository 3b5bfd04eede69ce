#!/usr/bin/env python3
"""Logs of tuners as they are: how small tsql keeps each kind and how fast it takes them in, beside its peers, in one run.

    cargo build --release
    python3 benches/tuning_logs.py [--data DIR] [--only NAME ...] [--rounds 5] [--tsql FILE]

Needs zstd, xz and the Python package duckdb. The kinds are logs of auto_scheduler (TenSet), TenSet's network_info,
AutoTVM's logs and databases of MetaSchedule; one that DIR does not have is left out.

Each kind is ingested into a store of its own first. What is in the files is counted here, without tsql: lines that hold a record,
tasks of the pickles. If the store has another number of them, the run ends there. `tsql export` then gives the files
back; contents are compared, byte for byte (of a .gz file what is in it).

Size, in bytes: the contents; all of them as one stream under `zstd -19` and `xz -9`; the file of a DuckDB database with
the same lines; the data files of the store after `tsql optimize`, and the whole folder after `tsql vacuum`.

Speed (medians of interleaved rounds, least and greatest beside them), as seconds, MB of contents and records a
second: tsql is the whole command, on one parsing thread and on all; the peer is DuckDB loading the same files into tables of a new
database, from connecting to closing it, on one thread and on all. Lines that are objects go through `read_json`; lists, which
it makes no columns of, are kept as JSON with the run times taken out. Nobody but TVM reads the pickles.
"""

import argparse
import collections
import gzip
import io
import json
import os
import pathlib
import pickle
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
SHARED = HERE.parent.parent / "shared" / "data"
CORES = os.cpu_count()
RECORDS = "database_tuning_record.json"
LIST = "tsql-export.json"

# Of comments, which are no JSON, it makes rows of nothing.
OBJECTS = """SELECT * FROM read_json($files, format = 'newline_delimited', ignore_errors = true, union_by_name = true)
    WHERE {} IS NOT NULL"""
LISTS = """SELECT (json->>'$[0]')::UBIGINT AS workload, (json->'$[1][1]')::DOUBLE[] AS run_secs, json
    FROM read_ndjson_objects($files)"""
WORKLOADS = "SELECT json->>'$[0]' AS hash, json FROM read_ndjson_objects($files)"


class Anything:
    """An object of a class that is not here."""

    def __init__(self, *_, **__):
        pass

    def __setstate__(self, _):
        pass


class Unpickler(pickle.Unpickler):
    """Reads what classes of TVM wrote, without them."""

    def find_class(self, module, name):
        return Anything


def contents(path):
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def parsed(line):
    """What a line says; nothing where it is no JSON."""
    try:
        return json.loads(line)
    except ValueError:
        return None


def lines(contents):
    return (parsed(line) for text in contents for line in text.split(b"\n"))


def count_objects(files):
    return sum(isinstance(line, dict) for line in lines(files.values()))


def count_lists(files):
    records = (text for path, text in files.items() if path.name.startswith(RECORDS))
    return sum(isinstance(line, list) for line in lines(records))


def count_tasks(files):
    """A file is a pair: its tasks, and how often the network has each."""
    return sum(len(Unpickler(io.BytesIO(text)).load()[0]) for text in files.values())


def load_objects(column):
    def load(connection, files):
        connection.execute(f"CREATE TABLE records AS {OBJECTS.format(column)}", {"files": files})

    return load


def load_lists(connection, files):
    records = [path for path in files if RECORDS in path]
    workloads = [path for path in files if RECORDS not in path]
    connection.execute(f"CREATE TABLE records AS {LISTS}", {"files": records})
    connection.execute(f"CREATE TABLE workloads AS {WORKLOADS}", {"files": workloads})


class Kind:
    """A kind of files: where they are, how many records they hold, where these are in a store, and in DuckDB."""

    def __init__(self, name, folders, count, table, load):
        self.name, self.table, self.load = name, table, load
        self.folders = [folder for folder in folders if folder.is_dir()]
        files = (path for folder in self.folders for path in sorted(folder.rglob("*")) if path.is_file())
        self.contents = {path: contents(path) for path in files}
        self.bytes = sum(map(len, self.contents.values()))
        self.records = count(self.contents)


def kinds(data):
    tenset = data / "tenset"
    logs = [tenset / name for name in ("a100", "k80", "x86", "tutorial-logs")]
    databases = sorted((data / "metaschedule").glob("*"))
    return {
        "tenset": lambda: Kind("TenSet, logs", logs, count_objects, "records", load_objects("i")),
        "network_info": lambda: Kind("TenSet, network_info", [tenset / "network_info"], count_tasks, "network_tasks", None),
        "autotvm": lambda: Kind("AutoTVM", [data / "autotvm"], count_objects, "records", load_objects("input")),
        "metaschedule": lambda: Kind("MetaSchedule", databases, count_lists, "records", load_lists),
    }


def run(command, **more):
    done = subprocess.run([str(part) for part in command], capture_output=True, **more)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr.decode()}")
    return done.stdout


def timed(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def ingest(tsql, kind, threads, store):
    shutil.rmtree(store, ignore_errors=True)
    command = [tsql, "ingest", "--quiet", "--store", store, "--threads", threads, *kind.folders]
    return timed(lambda: run(command))


def duckdb_load(kind, threads, file):
    file.unlink(missing_ok=True)

    def load():
        with duckdb.connect(str(file), config={"threads": threads}) as connection:
            kind.load(connection, [str(path) for path in kind.contents])

    return timed(load)


def agreed(kind, found, who):
    if found != kind.records:
        sys.exit(f"{kind.name}: {who} has {found} of {kind.records} records")


def checked(tsql, kind, scratch):
    """A store of these files, which has as many records as they hold."""
    store = scratch / "store"
    ingest(tsql, kind, CORES, store)
    sql = f"SELECT count(*) AS count FROM {kind.table}"
    answer = run([tsql, "--store", store, sql, "--format", "json"])
    agreed(kind, json.loads(answer)[0]["count"], "the store")
    return store


def comes_back(tsql, kind, store, to):
    """Does `tsql export` give these contents, and no others?"""
    run([tsql, "--store", store, "export", "--to", to])
    names = [(path.name.removesuffix(".gz"), text) for path, text in kind.contents.items()]
    back = [path for path in to.rglob("*") if path.is_file() and path.name != LIST]
    back = [(path.name.removesuffix(".gz"), contents(path)) for path in back]
    shutil.rmtree(to)
    return collections.Counter(names) == collections.Counter(back)


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def data_bytes(store):
    files = (path for path in store.rglob("*.parquet") if "_delta_log" not in path.parts)
    return sum(path.stat().st_size for path in files)


def sizes(tsql, kind, store, scratch):
    """A row of bytes, and whether the files come back."""
    back = comes_back(tsql, kind, store, scratch / "back")
    run([tsql, "--store", store, "optimize"])
    run([tsql, "--store", store, "vacuum", "--retain", "0s"])
    stream = b"".join(kind.contents.values())
    zstd, xz = (len(run([*command, "-c"], input=stream)) for command in (["zstd", "-19"], ["xz", "-9"]))
    database = "-"
    if kind.load:
        file = scratch / "peer.duckdb"
        duckdb_load(kind, CORES, file)
        with duckdb.connect(str(file), read_only=True) as connection:
            agreed(kind, connection.execute("SELECT count(*) FROM records").fetchone()[0], "DuckDB")
        database = f"{file.stat().st_size:,}"
    data, folder = data_bytes(store), folder_bytes(store)
    numbers = [len(kind.contents), kind.records, kind.bytes, zstd, xz]
    shown = [f"{number:,}" for number in numbers]
    return [kind.name, *shown, database, f"{data:,}", f"{data / zstd:.2f}", f"{folder:,}", "yes" if back else "NO"]


def spread(values, digits):
    median, *ends = (f"{value:,.{digits}f}" for value in (statistics.median(values), min(values), max(values)))
    return f"{median} ({'-'.join(ends)})"


def speeds(tsql, kind, rounds, scratch):
    """Rows of seconds and rates."""
    seconds = collections.defaultdict(list)
    for _ in range(rounds):
        for threads in sorted({1, CORES}):
            if kind.load:
                row = f"DuckDB {duckdb.__version__}, {threads} threads"
                seconds[row].append(duckdb_load(kind, threads, scratch / "peer.duckdb"))
            row = f"tsql ingest, {threads} parsing threads"
            seconds[row].append(ingest(tsql, kind, threads, scratch / "store"))
    for row, taken in sorted(seconds.items()):
        rate, records = ([amount / one for one in taken] for amount in (kind.bytes / 1e6, kind.records))
        yield [kind.name, row, spread(taken, 2), spread(rate, 1), spread(records, 0)]
    if not kind.load:
        yield [kind.name, "DuckDB", "-", "-", "-"]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, default=SHARED)
    parser.add_argument("--only", nargs="+", choices=list(kinds(SHARED)))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    chosen = kinds(options.data)
    all_kinds = [make() for name, make in chosen.items() if name in (options.only or chosen)]
    all_kinds = [kind for kind in all_kinds if kind.contents]
    if not all_kinds:
        sys.exit(f"no such logs in {options.data}")
    version = run([options.tsql, "--version"]).decode().strip()
    print(f"{version}, DuckDB {duckdb.__version__}, {CORES} cores, {options.rounds} rounds\n")
    size_rows, speed_rows = [], []
    for kind in all_kinds:
        with tempfile.TemporaryDirectory() as scratch:
            scratch = pathlib.Path(scratch)
            store = checked(options.tsql, kind, scratch)
            size_rows.append(sizes(options.tsql, kind, store, scratch))
            speed_rows += speeds(options.tsql, kind, options.rounds, scratch)
    head = ["", "files", "records", "contents", "zstd -19", "xz -9", "DuckDB's file", "tsql, data files", "of zstd", "whole folder", "comes back"]
    table(head, size_rows)
    table(["", "", "s", "MB/s", "records/s"], speed_rows)
    lost = [row[0] for row in size_rows if row[-1] != "yes"]
    if lost:
        sys.exit(f"not byte for byte: {', '.join(lost)}")


if __name__ == "__main__":
    main()
