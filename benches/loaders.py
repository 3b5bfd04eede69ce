#!/usr/bin/env python3
"""Training loaders of the Python package, beside what people use for the same, in one run.

    python3 benches/loaders.py --npz DIR-OR-FILE... --rows 1000000 --seconds 5

Needs the package (`python/build`, or `pip install .`: figures are of the build that it has), numpy; pandas, pyarrow and datasets
are timed where they are there. Two parts:

graphs  a step is a layout graph with 128 of its configurations: `training_graphs` from Python, the library's call alone (the
        aim is 1.5 times that), and NumPy on the npz file, read anew for each step or kept in memory as a whole.
rows    schedules as 113 numbers with their times, in shuffled batches of 4,096: `training_rows`; rows of a Parquet file with the
        same columns through pandas, pyarrow and Hugging Face's datasets. Made of `data/` by repetition: what varies is the order.

Every way must give the same: shapes and sums are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.pop(0)  # `copy.py` beside this file is not the one of the standard library.

import numpy  # noqa: E402

import tsql  # noqa: E402

CHECKOUT = Path(__file__).parents[1]
SCHEDULES = (
    "SELECT schedule_numbers(steps) AS x, CAST(ln(runtime_ns) AS FLOAT) AS y FROM records JOIN configurations USING (config_id)"
    " CROSS JOIN generate_series(1, {times}) AS again(n) WHERE status = 'ok' AND records.dataset = 'tenset'"
)
BATCH = 4096


def steps_a_second(step: Callable[[int], Any], seconds: float) -> float:
    """The median of the time of a step, turned round; the first steps do not count."""
    for number in range(3):
        step(number)
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        step(len(times))
        times.append(time.perf_counter() - began)
    return 1 / statistics.median(times)


def graphs(files: list[Path], seconds: float) -> None:
    store = tsql.create("memory:")
    store.ingest(files)
    by_id = {name: name.split(":") for name in store.training_files()}
    for name in (name for name, parts in by_id.items() if parts[0] == "layout"):
        loader = store.training_graphs(name, k=128, seed=7, threads=1)
        native = loader._native()
        arrays = loader.step(0, 0).numpy()
        _, *folders, stem = by_id[name]
        path = next((file for file in files if file.stem == stem and set(folders) <= set(file.parts)), None)
        if path is None:
            print(f"{name}: which file?")
            continue
        whole = dict(numpy.load(path))
        picked = arrays["samples"]
        assert (whole["node_config_feat"][picked].astype("i1") == arrays["layouts"]).all()
        assert (whole["config_runtime"][picked] == arrays["runtimes_ns"]).all()
        chance = numpy.random.default_rng(7)

        def in_memory(_: int) -> Any:
            some = chance.choice(len(whole["config_runtime"]), len(picked), replace=False)
            return whole["node_config_feat"][some], whole["config_runtime"][some], whole["node_feat"], whole["edge_index"]

        def anew(_: int) -> Any:
            with numpy.load(path) as file:
                read = {key: file[key] for key in ("node_config_feat", "config_runtime", "node_feat", "edge_index")}
            some = chance.choice(len(read["config_runtime"]), len(picked), replace=False)
            return read["node_config_feat"][some], read["config_runtime"][some]

        ways = {
            "tsql": lambda number: loader.step(number, 0).numpy(),
            "the library alone": lambda number: native.compute_step(number, 0),
            "npz in memory": in_memory,
            "npz for each step": anew,
        }
        found = {way: steps_a_second(step, seconds) for way, step in ways.items()}
        told = ", ".join(f"{way} {1e6 / rate:,.0f} µs" for way, rate in found.items())
        share = found["the library alone"] / found["tsql"]
        print(f"{name}, {len(picked)} configurations: {told}; {share:.2f} times the library's call")


def rows_a_second(batches: Callable[[], Iterator[Any]], rows: int) -> float:
    """Rows of an epoch by its time, after one that does not count."""
    for _ in batches():
        pass
    began = time.perf_counter()
    count = sum(len(batch) for batch in batches())
    assert count == rows, (count, rows)
    return rows / (time.perf_counter() - began)


def rows(wanted: int) -> None:
    store = tsql.create("memory:")
    store.ingest(CHECKOUT / "data")
    one = store.sql(SCHEDULES.format(times=1) + " LIMIT 1000000").numpy()["y"].size
    sql = SCHEDULES.format(times=max(1, wanted // one))
    began = time.perf_counter()
    loader = store.training_rows(sql, batch_rows=BATCH, seed=7)
    count = len(loader)
    print(f"{count:,} rows, made in {time.perf_counter() - began:.1f} s")

    def ours() -> Iterator[numpy.ndarray]:
        for batch in loader:
            arrays = batch.numpy()
            assert arrays["x"].shape[1] == 113
            yield arrays["x"]

    print(f"tsql: {rows_a_second(ours, count):,.0f} rows a second")
    if not importlib.util.find_spec("pyarrow"):
        return
    import pyarrow
    import pyarrow.parquet

    path = os.path.join(tempfile.mkdtemp(), "rows.parquet")
    table = store.sql(sql).arrow()
    pyarrow.parquet.write_table(table, path)
    chance = numpy.random.default_rng(7)

    def matrix(column: Any) -> numpy.ndarray:
        return column.combine_chunks().flatten().to_numpy(zero_copy_only=False).reshape(-1, 113)

    def by_pyarrow() -> Iterator[numpy.ndarray]:
        read = pyarrow.parquet.read_table(path)
        order = chance.permutation(len(read))
        for begin in range(0, len(order), BATCH):
            yield matrix(read.take(order[begin : begin + BATCH])["x"])

    ways: dict[str, Callable[[], Iterator[Any]]] = {"pyarrow, take": by_pyarrow}
    if importlib.util.find_spec("pandas"):
        import pandas

        def by_pandas() -> Iterator[numpy.ndarray]:
            frame = pandas.read_parquet(path).sample(frac=1, random_state=7)
            for begin in range(0, len(frame), BATCH):
                yield numpy.stack(frame["x"].to_numpy()[begin : begin + BATCH])

        ways["pandas, sample"] = by_pandas
    if importlib.util.find_spec("datasets"):
        import datasets

        datasets.disable_progress_bars()
        shuffled = datasets.Dataset.from_parquet(path, cache_dir=os.path.dirname(path)).shuffle(seed=7).with_format("numpy")
        ways["datasets, shuffle"] = lambda: (batch["x"] for batch in shuffled.iter(BATCH))
    total = float(matrix(table["x"]).sum(dtype="f8"))
    assert abs(sum(float(x.sum(dtype="f8")) for x in ours()) - total) <= 1e-6 * abs(total)
    for way, batches in ways.items():
        print(f"{way}: {rows_a_second(batches, count):,.0f} rows a second")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--npz", nargs="*", type=Path, default=[], help="layout files of TpuGraphs, or folders of them")
    parser.add_argument("--rows", type=int, default=0, help="rows of schedules")
    parser.add_argument("--seconds", type=float, default=5, help="for each way of a graph")
    given = parser.parse_args()
    files = [file for path in given.npz for file in (sorted(path.rglob("*.npz")) if path.is_dir() else [path])]
    print(f"tsql {tsql.__version__}, {len(os.sched_getaffinity(0))} cores, Python {sys.version.split()[0]}")
    if files:
        graphs(files, given.seconds)
    if given.rows:
        rows(given.rows)


if __name__ == "__main__":
    main()
