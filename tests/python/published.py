"""Reads a publication with other programs, and compares it with results of tsql.

Arguments: the publication, a folder with tsql's result for each table (TABLE.parquet), a folder for caches. Prints
{"tables": {table: rows}, "platforms": {platform: records}, "warnings": [...], "pandas": {table.column: type}}.
"""

import hashlib
import json
import os
import pathlib
import sys

published, results, cache = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
os.environ.update(HF_HOME=str(cache / "hf"), HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1")
os.environ["CROISSANT_CACHE"] = str(cache / "croissant")

import datasets
import duckdb
import mlcroissant
import pandas
import pyarrow
import pyarrow.parquet

datasets.disable_progress_bars()

# Rows that are compared one by one, in Python.
COMPARED = 2000

# Sort keys of some tables.
ORDER = {
    "configurations": ["graph_id", "config_id"],
    "node_types": ["node_type_id"],
    "nodes": ["graph_id", "node"],
    "records": ["graph_id", "source_id", "line"],
}


def plain(data_type):
    """Returns whether other programs support a type of Arrow."""
    if pyarrow.types.is_list(data_type):
        return plain(data_type.value_type)
    if pyarrow.types.is_struct(data_type):
        return all(plain(field.type) for field in data_type)
    if pyarrow.types.is_timestamp(data_type):
        return data_type.tz == "UTC"
    known = ("string", "int16", "int32", "int64", "double", "float", "bool")
    return str(data_type) in known


def same(ours, theirs):
    """Compares a value of mlcroissant, whose texts are bytes, with a value of Arrow."""
    if isinstance(ours, bytes):
        ours = ours.decode()
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(ours, dict):
        return all(same(value, theirs[name.rsplit("/", 1)[1]]) for name, value in ours.items())
    # mlcroissant returns a NULL list of structs as one struct without values.
    if theirs is None and isinstance(ours, list) and len(ours) == 1 and isinstance(ours[0], dict):
        return all(value is None for value in ours[0].values())
    return ours == theirs or (ours != ours and theirs != theirs)


metadata = mlcroissant.Dataset(str(published / "croissant.json"))
issues = metadata.metadata.ctx.issues
assert not issues.errors, issues.errors
for file in metadata.metadata.file_objects:
    content = (published / file.content_url).read_bytes()
    assert hashlib.sha256(content).hexdigest() == file.sha256, file.content_url

tables = sorted(path.name for path in published.iterdir() if path.is_dir())
assert tables == sorted(record_set.id for record_set in metadata.metadata.record_sets), tables
rows, kinds = {}, {}
for name in tables:
    folder = published / name
    table = pyarrow.parquet.read_table(folder)
    for field in table.schema:
        assert plain(field.type), f"{name}.{field.name}: {field.type}"
        assert field.metadata[b"comment"], f"{name}.{field.name}"
    rows[name] = table.num_rows
    assert rows[name] > 0, name

    # Each file is sorted.
    key = ORDER.get(name, [])
    for path in folder.rglob("*.parquet") if key else []:
        columns = [pyarrow.parquet.read_table(path)[column].to_pylist() for column in key]
        values = list(zip(*columns))
        assert values == sorted(values), path

    # DuckDB finds the same rows as tsql.
    files = f"read_parquet('{folder}/**/*.parquet')"
    columns = ", ".join(f'"{column}"' for column in table.column_names if column != "features")
    result = f"SELECT {columns} FROM '{results / name}.parquet'"
    ours = f"SELECT {columns} FROM {files}"
    for one, other in ((ours, result), (result, ours)):
        lacking = duckdb.sql(f"SELECT count(*) FROM ({one} EXCEPT ALL {other})").fetchone()
        assert lacking == (0,), f"{name}: {lacking} rows of {one}"

    # pandas: integers stay integers.
    frame = pandas.read_parquet(folder)
    assert len(frame) == rows[name], name
    for field in table.schema:
        kinds[f"{name}.{field.name}"] = str(frame.dtypes[field.name])
        if pyarrow.types.is_integer(field.type):
            values = [None if pandas.isna(value) else int(value) for value in frame[field.name]]
            assert values == table[field.name].to_pylist(), f"{name}.{field.name}"

    # datasets: as a folder of files, and by the card.
    files = [datasets.load_dataset("parquet", data_dir=str(folder))]
    files.append(datasets.load_dataset(str(published), name))
    for loaded in files:
        assert list(loaded) == ["train"], f"{name}: {loaded}"
        assert loaded["train"].num_rows == rows[name], name
        assert loaded["train"].column_names == table.column_names, name
        first = loaded["train"].select(range(min(COMPARED, rows[name]))).to_list()
        if rows[name] <= COMPARED:
            assert sorted(map(str, first)) == sorted(map(str, table.to_pylist())), name

    # mlcroissant: each field of each record.
    read = 0
    wanted = iter(table.slice(0, COMPARED).to_pylist())
    for record in metadata.records(name):
        row = next(wanted, None)
        if row is None:
            break
        read += 1
        fields = {field.rsplit("/", 1)[1]: value for field, value in record.items()}
        assert fields.keys() == row.keys(), name
        for column, value in fields.items():
            if column == "measured_at" or column.endswith("_at"):
                value = None if value is None else value.to_pydatetime()
            assert same(value, row[column]), f"{name}.{column}: {value!r}, {row[column]!r}"
    assert read == min(rows[name], COMPARED), name

platforms = duckdb.sql(
    f"SELECT platform, count(*) FROM '{published}/records/*/*/*.parquet' GROUP BY platform"
).fetchall()
warnings = sorted(issues.warnings)
report = {"tables": rows, "platforms": dict(platforms), "warnings": warnings, "pandas": kinds}
json.dump(report, sys.stdout)
