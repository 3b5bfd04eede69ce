#!/usr/bin/env python3
"""What training costs: a split in a scan, scores, files for training, tokens, steps of many kernels.

    python3 benches/training.py --tsql target/release/tsql [--store STORE | --generator FILE --tasks 224] [--kernels STORE] [--rounds 5]

The records are those of a store, or 5 million that `tenset_generate` makes. Each figure is the median of rounds of whole processes, with the
least and the greatest; what is compared is asked in turns.

split     a sum over each record that no sums of files answer, with and without the part of a split; the difference is also told for
          51.6 million records (the aim: below 0.2 s).
score     `tsql score tenset` of a prediction for each configuration and platform (the aim: 5 million below 5 s).
export    `tsql export training` of `schedule_numbers` and `tlp_tokens` as Arrow, Parquet and npz: MB/s of features, which
          are what the arrays have (the aim: 200 MB/s).
tokens    `tlp_tokens` over all configurations, a second (the aim: 1 million).
batch     with --kernels, a store with many files of TpuGraphs' tile:xla: an epoch of `tsql batch`, and its kernels a second.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import time

ALL_RECORDS = 51.6e6  # TenSet


class Bench:
    def __init__(self, tsql, store, rounds):
        self.tsql, self.store, self.rounds = tsql, store, rounds

    def run(self, *args):
        """Wall seconds of a command, and what it prints."""
        begin = time.perf_counter()
        done = subprocess.run([self.tsql, "--store", self.store, *map(str, args)], check=True, capture_output=True, text=True)
        return time.perf_counter() - begin, done.stdout

    def ask(self, sql):
        return json.loads(self.run("--format", "json", sql)[1])

    def turns(self, *commands):
        """Seconds of each of several commands, which take turns; the first round only warms."""
        times = [[self.run(*command)[0] for command in commands] for _ in range(self.rounds + 1)]
        return list(zip(*times[1:], strict=True))


def told(what, times, more=""):
    print(f"| {what} | {statistics.median(times):.3f} | {min(times):.3f} | {max(times):.3f} | {more} |", flush=True)


def split(bench):
    if not any(row["name"] == "bench" for row in bench.ask("SELECT name FROM splits")):
        bench.run("split", "create", "bench", "--unit", "task", "--seed", "7")
    records = bench.ask("SELECT count(*) AS n FROM records")[0]["n"]
    value = "sum(runtime_ns + line)"
    with_split = f"SELECT split('bench') AS part, {value} FROM records GROUP BY part"
    plain, divided = bench.turns([f"SELECT {value} FROM records"], [with_split])
    told(f"scan of {records:,} records", plain)
    more = statistics.median(divided) - statistics.median(plain)
    told("the same by parts of a split", divided, f"{more:+.3f} s, {more * ALL_RECORDS / records:+.3f} s for 51.6 million")


def score(bench, folder):
    path = folder / "predictions.parquet"
    sql = "SELECT DISTINCT config_key, platform, CAST(config_id % 1009 AS DOUBLE) AS prediction FROM records WHERE status <> 'unmeasured'"
    bench.run(sql, "--format", "parquet", "-o", path)
    count = bench.ask(f"SELECT count(*) AS n FROM '{path}'")[0]["n"]
    where = ["--where", "status <> 'unmeasured'"]
    whole, single = bench.turns(["score", "tenset", path, *where], ["score", "tenset", path, *where, "--resamples", "0"])
    told(f"score of {count:,} predictions", whole)
    told("the same without intervals", single)


def export(bench, folder):
    kind = bench.ask("SELECT target_kind FROM environments ORDER BY target_kind LIMIT 1")[0]["target_kind"]
    tokens = f"tlp_tokens:{kind}"
    for number, form in enumerate(("arrow", "parquet", "npz")):
        times = []
        for round in range(bench.rounds):
            to = folder / f"files-{number}-{round}"
            args = ["--features", f"schedule_numbers,{tokens}", "--group", "none", "--files", form, "-o", to]
            platform = "platform = (SELECT min(platform) FROM records)"
            times.append(bench.run("export", "--format", "training", "--where", platform, *args)[0])
        manifest = json.loads((to / "manifest.json").read_text())
        rows = sum(part["rows"] for part in manifest["parts"])
        widths = sum(len(one["elements"]) * (8 if "64" in one["element_type"] else 4) for one in manifest["features"])
        rate = rows * widths / 1e6 / statistics.median(times)
        told(f"files for training, {form}, {rows:,} rows", times, f"{rate:,.0f} MB/s of features")


def tokens(bench):
    count = bench.ask("SELECT count(*) AS n FROM configurations")[0]["n"]
    text, own = bench.turns(
        ["SELECT sum(length(steps)) FROM configurations"], ["SELECT sum(tlp_tokens(steps, 'llvm')[6]) FROM configurations"]
    )
    told(f"text of {count:,} programs", text, f"{count / statistics.median(text):,.0f} a second")
    told("tlp_tokens of them", own, f"{count / statistics.median(own):,.0f} a second")


def batch(bench, folder):
    """Each kernel once, 32 of its configurations."""
    count = bench.ask("SELECT count(*) AS n FROM sources WHERE dataset = 'tpugraphs' AND id LIKE 'tile:%'")[0]["n"]
    args = ["batch", "tile:xla", "-k", "32", "--epochs", "1", "-o", folder / "steps.arrow"]
    (times,) = bench.turns(args)
    told(f"an epoch of {count:,} kernels", times, f"{count / statistics.median(times):,.0f} a second")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tsql", required=True)
    parser.add_argument("--store")
    parser.add_argument("--generator", default="tenset_generate")
    parser.add_argument("--tasks", type=int, default=224)
    parser.add_argument("--kernels")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="split,score,export,tokens,batch")
    options = parser.parse_args()
    only = options.only.split(",")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        store = options.store
        if store is None and only != ["batch"]:
            store = folder / "store"
            make = [options.generator, "--store", store, "--tsql", options.tsql, "--tasks", str(options.tasks)]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        print("| | median, s | least | greatest | |\n|---|---|---|---|---|", flush=True)
        bench = Bench(options.tsql, store, options.rounds)
        for name, work in [("split", split), ("tokens", tokens)]:
            if name in only:
                work(bench)
        for name, work in [("score", score), ("export", export)]:
            if name in only:
                work(bench, folder)
        if "batch" in only and options.kernels:
            batch(Bench(options.tsql, options.kernels, options.rounds), folder)


if __name__ == "__main__":
    main()
