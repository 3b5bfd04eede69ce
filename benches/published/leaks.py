#!/usr/bin/env python3
"""How much a split flatters: one model, trained and scored on the same records, where only the split differs.

    cargo build --release
    python3 -m venv venv && venv/bin/pip install lightgbm numpy
    venv/bin/python benches/published/leaks.py [LOGS]      # default: the shared logs of x86, and those of MetaSchedule on an A100

By five folds, LightGBM learns labels (the best of a task over the time, without failed records) from numbers of the schedule and of the
workload, and `tsql score tenset --variant valid` says what its predictions for the test part are worth. Numbers of a schedule are
`schedule_numbers`; of a trace of MetaSchedule how often each instruction is there, and what was decided. `random records`, `first 80 % of
lines` and `every 5th by latency` are what papers do; `by task` and `by structure` (the DAG; of traces the blocks that they schedule) leak nothing.
The random predictor and the noise ceiling stand in each table. Published, pair accuracy by random records and by task: .783 and .656 of
x86 (29 tasks of 5,438 valid rows), .880 and .734 of the A100 (18 tasks of 15,440).
"""

import argparse
import collections
import csv
import hashlib
import json
import tempfile

import lightgbm
import numpy

from asked import SHARED, ingested, rows, tsql

# In which of five folds a record is, as SQL: each is predicted by a model that learnt from the others. Of the first lines
# nothing is predicted.
SPLITS = {
    "random records": "xxh3_64(config_key || '-' || CAST(line AS VARCHAR)) % 5",
    "every 5th by latency": "place_by_time % 5",
    "first 80 % of lines": "CASE WHEN place_by_line > 0.8 * task_rows THEN 0 END",
    "by task": "xxh3_64(workload_key) % 5",
    "by structure": "CASE WHEN numbers IS NOT NULL THEN xxh3_64(workload_name) % 5 END",
}
STRUCTURE = list(SPLITS).index("by structure")

ROWS = """
WITH known AS (
  SELECT r.source_id, r.line, c.config_key, g.workload_key, g.workload_name, r.runtime_ns, c.steps, g.workload_args,
    schedule_numbers(c.steps) AS numbers,
    row_number() OVER (PARTITION BY r.graph_id ORDER BY r.runtime_ns) AS place_by_time,
    row_number() OVER (PARTITION BY r.graph_id ORDER BY r.source_id, r.line) AS place_by_line,
    count(*) OVER (PARTITION BY r.graph_id) AS task_rows,
    min(r.runtime_ns) OVER (PARTITION BY r.graph_id) / r.runtime_ns AS label
  FROM records AS r JOIN configurations AS c ON c.config_id = r.config_id JOIN graphs AS g ON g.graph_id = r.graph_id
  WHERE r.status = 'ok'
)
SELECT source_id, line, config_key, label, workload_args, {parts}, numbers, CASE WHEN numbers IS NULL THEN steps END AS trace
FROM known WHERE task_rows >= 24 ORDER BY source_id, line
"""


def numbers_of(text, length=16):
    """The first numbers in the arguments of a workload."""
    found = []

    def walk(one):
        if isinstance(one, list):
            for inner in one:
                walk(inner)
        elif isinstance(one, (int, float)):
            found.append(float(one))

    walk(json.loads(text or "[]"))
    return (found + [0.0] * length)[:length]


def of_traces(traces, length=64):
    """Numbers of traces of MetaSchedule, and in which of five folds each is by the blocks that it schedules."""
    counts, decided, folds = [], [], []
    for trace in traces:
        instructions, decisions = json.loads(trace)[:2]
        names = [name for name, *_ in instructions]
        counts.append(collections.Counter(names))
        decided.append(numbers_of(json.dumps([decision for _, decision in decisions]), length))
        blocks = [attributes[0] for name, _, attributes, _ in instructions if name == "GetBlock"]
        skeleton = hashlib.md5(" ".join(blocks).encode()).digest()
        folds.append(int.from_bytes(skeleton[:8], "little") % 5)
    names = sorted({name for count in counts for name in count})
    return [[float(count[name]) for name in names] + numbers for count, numbers in zip(counts, decided)], folds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="*")
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--seeds", type=int, default=1)
    args = parser.parse_args()
    shared = [[SHARED / "data/tenset/x86"], [SHARED / "data/metaschedule/a100-resnet34"]]
    for logs in [args.logs] if args.logs else shared:
        table_of(logs, args)


def table_of(logs, args):
    """Prints what each split makes of some logs."""
    with tempfile.TemporaryDirectory() as store:
        ingested(store, *logs, platform="measured")
        parts = ", ".join(f"({sql}) AS part_{place}" for place, sql in enumerate(SPLITS.values()))
        table = rows(ROWS.format(parts=parts), store)
        traces = [row["trace"] for row in table if row["trace"]]
        schedules = [json.loads(row["numbers"]) for row in table if not row["trace"]]
        if traces and schedules:
            raise SystemExit("logs of Ansor or of MetaSchedule, not of both")
        if traces:
            schedules, structures = of_traces(traces)
            for row, structure in zip(table, structures):
                row[f"part_{STRUCTURE}"] = structure
        features = [schedule + numbers_of(row["workload_args"]) for schedule, row in zip(schedules, table)]
        features = numpy.array(features, dtype=numpy.float32)
        labels = numpy.array([float(row["label"]) for row in table])
        print(f"{len(table)} valid records, {features.shape[1]} features, {args.trees} trees")
        print(f"{'split':<22} {'test rows':>9} {'pairs':>6} {'low':>6} {'high':>6} {'top-1':>6}   random: pairs, top-1   ceiling: pairs")
        for place, name in enumerate(SPLITS):
            folds = numpy.array([-1 if row[f"part_{place}"] in (None, "") else int(row[f"part_{place}"]) for row in table])
            predictions = numpy.zeros(len(table))
            for fold in sorted(set(folds) - {-1}):
                test = folds == fold
                for seed in range(args.seeds):
                    known = lightgbm.Dataset(features[~test], labels[~test])
                    how = {"objective": "regression", "seed": seed, "verbose": -1, "num_threads": 2}
                    model = lightgbm.train(how, known, num_boost_round=args.trees)
                    predictions[test] += model.predict(features[test]) / args.seeds
            chosen = [row for row, fold in zip(table, folds) if fold >= 0]
            predictions = predictions[folds >= 0]
            # A configuration that was measured again has one prediction: the mean.
            by_key = {}
            for row, prediction in zip(chosen, predictions):
                by_key.setdefault(row["config_key"], []).append(prediction)
            path = f"{store}/predictions.csv"
            with open(path, "w", newline="") as file:
                written = csv.writer(file)
                written.writerow(["config_key", "prediction"])
                written.writerows((key, numpy.mean(values)) for key, values in by_key.items())
            lines = ", ".join(f"({row['source_id']}, {row['line']})" for row in chosen)
            with open(f"{store}/test.csv", "w") as file:
                file.write("source_id,line\n" + lines.replace("), (", "\n").strip("()").replace(", ", ",") + "\n")
            where = f"source_id || '-' || line IN (SELECT source_id || '-' || line FROM '{store}/test.csv')"
            report = json.loads(tsql("score", "tenset", path, "--variant", "valid", "--where", where, "--format", "json", folder=store))
            score = {
                (row["group"], row["predictor"], metric): score
                for row in report["rows"]
                for metric, score in zip(report["metrics"], row["scores"])
            }
            ours, chance, most = (
                {metric: score[("mean of tasks", who, metric)] for metric in ("pairwise_accuracy", "top_1")}
                for who in ("predictions", "random", "repeats")
            )
            pairs = ours["pairwise_accuracy"]
            print(
                f"{name:<22} {len(chosen):>9} {pairs['value']:6.3f} {pairs['low']:6.3f} {pairs['high']:6.3f} {ours['top_1']['value']:6.3f}"
                f"   {chance['pairwise_accuracy']['value']:.3f}, {chance['top_1']['value']:.3f}"
                f"           {most['pairwise_accuracy']['value']:.3f}"
            )


if __name__ == "__main__":
    main()
