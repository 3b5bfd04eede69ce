#!/usr/bin/env python3
"""Sixteen producers append to one store at the same time, in small groups.

    python3 benches/writers.py WORK [--writers 16] [--groups 63] [--weed FILE] [--tsql FILE]

Each producer is a process that hands `tsql append` ten lines, waits for them to be durable (`--ack`), and
goes on with the next ten. Printed are groups per second over all of them and how long a group waited, on a
local disk and, with --weed, in a bucket of a SeaweedFS on this machine. At the end every record must be
there once.
"""

import argparse
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
GROUP = 10


def line(number):
    """A record as TVM writes it."""
    task = ["[\"mm\", 64, 64]", "llvm -keys=cpu", [4, 32, 64, 0, 0, 0, 0, 0], "", 0, []]
    steps = [["SP", 1, 0, 64, [number, 4], 1], ["FU", 1, [0, 1]], ["AN", 1, 0, 3], ["PR", 1, 0, "auto_unroll_max_step$16"]]
    record = {"i": [task, [[], steps]], "r": [[0.001 + number * 1e-7], 0, 0.5, 1700000000 + number], "v": "v0.6"}
    return json.dumps(record) + "\n"


def produce(number, options, environment, store, waits, failures):
    command = [options.tsql, "--store", store, "append", "--stream", f"w{number}", "--platform", "p", "--rows", str(GROUP), "--ack"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    for group in range(options.groups):
        begin = time.perf_counter()
        first = (number * options.groups + group) * GROUP
        process.stdin.write("".join(line(first + row) for row in range(GROUP)))
        process.stdin.flush()
        told = process.stdout.readline()
        if not told:
            break
        waits.append(time.perf_counter() - begin)
    process.stdin.close()
    said = process.stderr.read()
    if process.wait():
        failures.append(said)


def run(options, environment, store):
    subprocess.run([options.tsql, "--store", store, "init"], check=True, env=environment)
    waits, failures = [], []
    producers = [threading.Thread(target=produce, args=(number, options, environment, store, waits, failures)) for number in range(options.writers)]
    begin = time.perf_counter()
    for producer in producers:
        producer.start()
    for producer in producers:
        producer.join()
    seconds = time.perf_counter() - begin
    sql = "SELECT count(*), count(DISTINCT (source_id, line)) FROM records"
    found = subprocess.run([options.tsql, "--store", store, sql], check=True, env=environment, capture_output=True, text=True).stdout.split()[-1]
    groups = options.writers * options.groups
    wanted = groups * GROUP
    verdict = "every record once" if found == f"{wanted},{wanted}" else f"WRONG: {found} of {wanted}"
    place = "bucket" if store.startswith("s3") else "local disk"
    waits.sort()
    print(
        f"| {place} | {groups} | {seconds:.1f} | {groups / seconds:.1f} | {statistics.median(waits):.2f} | {waits[int(len(waits) * 0.99)]:.2f} | {waits[-1]:.2f} | {len(failures)} | {verdict} |",
        flush=True,
    )
    for failure in failures:
        print(failure, file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--writers", type=int, default=16)
    parser.add_argument("--groups", type=int, default=63)
    parser.add_argument("--weed")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    options.work.mkdir(parents=True)
    print("| store | groups | s | groups a second | wait, median s | 99th percentile | longest | gave up | |")
    print("|---" * 9 + "|")
    run(options, dict(os.environ), str(options.work / "store"))
    if options.weed:
        from bucket import BUCKET, KEY, SECRET, start

        server, port = start(options.weed, options.work / "weed")
        try:
            own = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1"}
            run(options, {**os.environ, **own, "TSQL_CACHE": str(options.work / "cache")}, f"s3://{BUCKET}/store")
        finally:
            server.kill()


if __name__ == "__main__":
    main()
