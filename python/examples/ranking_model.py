"""A model that ranks schedules, learned from tuning logs: `python ranking_model.py STORE LOGS...` (LightGBM, polars)."""

import sys

import lightgbm
import numpy
import polars

import tsql

SQL = """SELECT workload_key AS task, runtime_ns, min(runtime_ns) OVER (PARTITION BY workload_key) / runtime_ns AS speed,
  schedule_numbers(steps) AS steps, workload_args(workload_key) AS shape, part_of_split($seed, 'test', {key}, '80/0/20') AS part
FROM records JOIN configurations USING (config_id) JOIN graphs ON graphs.graph_id = records.graph_id
WHERE status = 'ok' ORDER BY task"""
SCORES = """SELECT avg(pairs), avg(top) FROM (SELECT ordered_pair_accuracy(runtime_ns, score) AS pairs,
  1 / (1 + top_k_error(runtime_ns, score, 1)) AS top FROM test GROUP BY task)"""


def scores(store: tsql.Store, key: str, seed: int) -> list[float]:
    """Share of pairs in their order, and the best time over that of the first choice: means over the tasks of the test."""
    rows = store.sql(SQL.format(key=key), {"seed": seed}).pl()
    sizes = polars.col("shape").str.extract_all("[0-9]+").cast(polars.List(polars.Float32))
    shape = rows.select(polars.concat_list(sizes, [0.0] * 16).list.head(16).cast(polars.Array(polars.Float32, 16)))
    x = numpy.hstack([rows["steps"].to_numpy(), shape["shape"].to_numpy()])
    train = (rows["part"] == "train").to_numpy()
    groups = rows.filter(train)["task"].rle().struct.field("len").to_numpy()
    learned = lightgbm.Dataset(x[train], (30 * rows["speed"].to_numpy()[train]).astype(int), group=groups)
    how: dict[str, object] = {"objective": "lambdarank", "label_gain": list(range(31)), "seed": 0, "num_threads": 1, "verbose": -1}
    model = lightgbm.train(how, learned, 100)
    test = rows.filter(~train).with_columns(score=-numpy.asarray(model.predict(x[~train])))
    return list(store.sql(SCORES, tables={"test": test}).rows()[0])


if __name__ == "__main__":
    store = tsql.create(sys.argv[1])
    store.ingest(sys.argv[2:])
    for unit, key in {"task": "workload_key", "record": "concat(source_id, ':', line)"}.items():
        pairs, top = numpy.mean([scores(store, key, seed) for seed in range(5)], axis=0)
        print(f"split by {unit}: pairs {pairs:.3f}, top-1 {top:.3f}")
