#!/usr/bin/env python3
"""Bytes of a record: tsql beside the text, the best compressors, DuckDB and plain Parquet.

    python3 benches/size.py STORE WORK [--every 230] [--generator FILE] [--tsql FILE]

STORE holds the generated records, optimized; WORK the peers' copies of the same records (see
race/run.py). Text is 52 GB, so the compressors get every 230th task of each platform, file by file as
TenSet is kept, and tsql takes these alone, too. Bytes count everything: tsql's and DuckDB's
configurations, graphs, ledger and logs; the plain Parquet files and DuckDB's table have no
programs (they would take tens of gigabytes as text), only their numbers.

Needs zstd, xz and pyarrow.
"""

import argparse
import collections
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import tempfile

import pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))


def size(folder):
    return sum(file.stat().st_size for file in pathlib.Path(folder).rglob("*") if file.is_file())


def compressed(files, *command):
    def one(file):
        return len(subprocess.run([*command, "-c", file], capture_output=True, check=True).stdout)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return sum(pool.map(one, files))


def columns(store, table):
    """Rows, and compressed bytes of each column."""
    rows, sizes, footers = 0, collections.Counter(), 0
    for file in pathlib.Path(store, table).rglob("*.parquet"):
        if "_delta_log" in file.parts:
            continue
        metadata = pyarrow.parquet.ParquetFile(file).metadata
        rows += metadata.num_rows
        inside = 0
        for group in range(metadata.num_row_groups):
            for place in range(metadata.num_columns):
                column = metadata.row_group(group).column(place)
                sizes[column.path_in_schema] += column.total_compressed_size
                inside += column.total_compressed_size
        footers += file.stat().st_size - inside
    sizes["indexes, sums, footers"] += footers
    return rows, sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--every", default="230")
    parser.add_argument("--generator", default="tenset_generate")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    records, sizes = columns(options.store, "records")
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        logs, small = pathlib.Path(scratch, "logs"), pathlib.Path(scratch, "store")
        subprocess.run([options.generator, "--to", logs, "--every", options.every], check=True)
        files = [str(file) for file in logs.rglob("*.json")]
        lines = sum(file.count(b"\n") for file in (pathlib.Path(name).read_bytes() for name in files))
        tsql = [options.tsql, "--store", str(small)]
        subprocess.run([*tsql, "ingest", "--quiet", logs], check=True)
        subprocess.run([*tsql, "optimize"], check=True, stderr=subprocess.DEVNULL)
        subprocess.run([*tsql, "vacuum", "--retain", "0s"], check=True, capture_output=True)
        best = compressed(files, "zstd", "-19", "-q")
        rows.append(("JSON lines", "sample", size(logs), lines))
        rows.append(("zstd -19, file by file", "sample", best, lines))
        rows.append(("xz -9e, file by file", "sample", compressed(files, "xz", "-9e"), lines))
        rows.append(("tsql, whole folder", "sample", size(small), lines))
        shutil.rmtree(small)
    rows.append(("plain Parquet, zstd, without programs", "all", size(options.work / "plain/records"), records))
    rows.append(("DuckDB's file, without programs", "all", (options.work / "race.duckdb").stat().st_size, records))
    rows.append(("tsql, records and ledger alone", "all", size(options.store) - size(options.store + "/configurations"), records))
    rows.append(("tsql, whole folder", "all", size(options.store), records))
    print("| | records | bytes | a record | of zstd -19 |\n|---|---|---|---|---|")
    for name, which, count, of in rows:
        share = count / of / (best / lines)
        print(f"| {name} | {of:,} ({which}) | {count:,} | {count / of:.2f} | {share:.2f} |")
    for table in ["records", "configurations"]:
        of, sizes = columns(options.store, table)
        print(f"\n| column of {table} ({of:,} rows) | bytes a row |\n|---|---|")
        for name, count in sizes.most_common():
            if count / of >= 0.005:
                print(f"| {name} | {count / of:.3f} |")


if __name__ == "__main__":
    main()
