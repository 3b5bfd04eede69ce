#!/usr/bin/env python3
"""How near a scan is to its limits: tsql beside what reads and adds up the same column in other ways.

    pip install pyarrow numpy
    python3 benches/scan_limit.py STORE [--tsql FILE] [--rounds 5]

For a column of `records` that sums cannot answer: the bytes of its pages and of its values, then milliseconds
of `tsql "SELECT sum(column + 1)"`, of Arrow C++ decoding the same column of the same files, and of NumPy adding up
the values that lie in memory already. All with two threads, in turn, the page cache warm.
"""

import argparse
import concurrent.futures
import os
import pathlib
import statistics
import sys
import time

import numpy
import pyarrow
import pyarrow.parquet

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "race"))

from engines import Tsql  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
COLUMNS = ["runtime_ns", "config_id"]
THREADS = 2


def timed(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pyarrow.set_cpu_count(THREADS)
    # Under a limit no columns are kept: what is read counts.
    engine = Tsql(options.tsql, str(options.store), ["--memory-limit", "64GB"], asked=2)
    current = engine.ask("SELECT count(*) FROM records")["rows"][0][0]
    files = sorted((options.store / "records").rglob("*/*/*.parquet"))
    if sum(pyarrow.parquet.ParquetFile(file).metadata.num_rows for file in files) != current:
        sys.exit("the store has files of older versions: tsql vacuum --retain 0s")
    print("| column | MB of pages | MB of values | tsql, ms | Arrow C++ decodes, ms | NumPy adds up, ms | tsql, GB of values a second |")
    print("|---" * 7 + "|")
    with concurrent.futures.ThreadPoolExecutor(THREADS) as threads:
        for column in COLUMNS:
            pages = 0
            for file in files:
                metadata = pyarrow.parquet.ParquetFile(file).metadata
                for group in range(metadata.num_row_groups):
                    row_group = metadata.row_group(group)
                    for place in range(row_group.num_columns):
                        if row_group.column(place).path_in_schema == column:
                            pages += row_group.column(place).total_compressed_size

            def decode(file):
                return pyarrow.parquet.read_table(file, columns=[column], use_threads=False, partitioning=None)

            def decoded():
                return list(threads.map(decode, files))

            parts = [table.column(0).to_numpy() for table in decoded()]
            times = [[], [], []]
            for _ in range(options.rounds):
                times[0].append(engine.ask(f"SELECT sum({column} + 1) FROM records")["seconds"])
                times[1].append(timed(decoded))
                times[2].append(timed(lambda: list(threads.map(numpy.nansum, parts))))
            values = sum(part.nbytes for part in parts)
            ours, theirs, least = (statistics.median(each) for each in times)
            print(f"| {column} | {pages / 1e6:.0f} | {values / 1e6:.0f} | {ours * 1e3:.0f} | {theirs * 1e3:.0f} | {least * 1e3:.0f} | {values / ours / 1e9:.1f} |", flush=True)


if __name__ == "__main__":
    main()
