"""Reads training files with pyarrow and NumPy, and checks the rules of LightGBM: `training_files.py FOLDER`. Labels,
relevance and groups are computed again from the runtimes."""

import hashlib
import json
import math
import pathlib
import sys

import numpy
import pyarrow.ipc
import pyarrow.parquet

folder = pathlib.Path(sys.argv[1])
manifest = json.loads((folder / "manifest.json").read_text())
report = {}
for part in manifest["parts"]:
    rows, sizes = [], []
    widths = {feature["column"]: len(feature["elements"]) for feature in manifest["features"]}
    features = {name: [] for name in widths}
    for file in part["files"]:
        path = folder / file["path"]
        assert hashlib.sha256(path.read_bytes()).hexdigest() == file["sha256"], path
        assert path.stat().st_size == file["bytes"]
        if path.suffix == ".txt":
            sizes = [int(line) for line in path.read_text().splitlines()]
            continue
        if path.suffix == ".npz":
            arrays = dict(numpy.load(path))
            own = arrays.pop("group_sizes")
            assert own.sum() == file["rows"]
            columns = {name: array.tolist() for name, array in arrays.items() if array.ndim == 1}
            for name in features:
                assert arrays[name].shape == (file["rows"], widths[name])
                features[name].append(arrays[name])
            rows += [dict(zip(columns, values)) for values in zip(*columns.values())]
            continue
        if path.suffix == ".parquet":
            table = pyarrow.parquet.read_table(path)
            about = json.loads(pyarrow.parquet.read_metadata(path).metadata[b"tsql.training"])
        else:
            table = pyarrow.ipc.open_file(path).read_all()
            about = json.loads(table.schema.metadata[b"tsql.training"])
        for name in ("tsql_version", "at", "sql", "split", "features", "label", "rows"):
            assert about[name] == manifest[name], name
        assert table.num_rows == file["rows"]
        for name, width in widths.items():
            column = table.column(name).combine_chunks()
            assert column.type.list_size == width and column.null_count == 0
            features[name].append(column.flatten().to_numpy().reshape(-1, width))
        rows += table.drop_columns(list(widths)).to_pylist()
    assert len(rows) == part["rows"] == sum(sizes)
    assert len(sizes) == part["groups"] and max(sizes) == part["largest_group"]
    queries = [row["query"] for row in rows]
    assert queries == [query for query, size in enumerate(sizes) for _ in range(size)]
    tasks = [(row["query"], row["platform"], row["graph_id"]) for row in rows]
    assert len(set(tasks)) == len({task[1:] for task in tasks}) == len(sizes), "a query is a task"
    tenset = manifest["label"]["name"] == "tenset"
    cost = lambda row: 1e10 if row["failed"] else row["runtime_ns"] / 1e9
    best = {}
    for row in rows:
        task = row["platform"], row["graph_id"]
        best[task] = min(best.get(task, math.inf), cost(row))
    for row in rows:
        label = best[row["platform"], row["graph_id"]] / cost(row)
        assert math.isclose(row["label"], label, rel_tol=1e-6), row
        # Near an integer the last bit decides.
        assert row["relevance"] in {math.floor(30 * label * (1 + way)) for way in (-1e-6, 0, 1e-6)}, row
        assert tenset or not row["failed"]
    assert sum(row["failed"] for row in rows) == part["failed"]
    report[part["name"]] = {
        "rows": len(rows),
        "sizes": sizes,
        "labels": [row["label"] for row in rows],
        "weights": [row.get("weight") for row in rows],
        "keys": [[row["platform"], row["graph_id"], row["source_id"], row["line"]] for row in rows],
        "features": {name: numpy.concatenate(parts).sum(1).tolist() for name, parts in features.items()},
    }
print(json.dumps(report))
