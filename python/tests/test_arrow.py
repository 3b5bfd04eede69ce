"""Arrow's PyCapsule interface: objects of other packages as tables and records, and results in other packages."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import pyarrow
import pytest

import tsql

ROWS = pyarrow.table(
    {
        "workload_key": ['["mm", {"M": 512}]'] * 2,
        "steps": ['{"TILE": 8}', '{"TILE": 16}'],
        "repeats_ns": [[1.0, 2.0], [3.0]],
    }
)


def module(name: str) -> Any:
    return pytest.importorskip(name)


PROVIDERS: dict[str, Callable[[], Any]] = {
    "pyarrow table": lambda: ROWS,
    "pyarrow batch": lambda: ROWS.to_batches()[0],
    "pyarrow reader": lambda: ROWS.to_reader(),
    "pyarrow structs": lambda: ROWS.to_struct_array().chunk(0),
    "polars frame": lambda: module("polars").DataFrame(ROWS),
    "polars structs": lambda: module("polars").DataFrame(ROWS).to_struct("rows"),
    "pandas frame": lambda: module("pandas") and ROWS.to_pandas(),
    "duckdb relation": lambda: module("duckdb").from_arrow(ROWS),
    "arro3 table": lambda: module("arro3.core").Table.from_arrow(ROWS),
    "arro3 batch": lambda: module("arro3.core").RecordBatch.from_arrow(ROWS.to_batches()[0]),
    "arro3 reader": lambda: module("arro3.core").RecordBatchReader.from_arrow(ROWS),
    "narwhals frame": lambda: module("narwhals").from_native(ROWS),
    "result": lambda: tsql.sample().sql("SELECT * FROM rows", tables={"rows": ROWS}),
    "batch": lambda: next(iter(tsql.sample().sql("SELECT * FROM rows", tables={"rows": ROWS}))),
}


@pytest.mark.parametrize("name", PROVIDERS)
def test_rows_of_other_packages_are_tables_and_records(name: str) -> None:
    rows = PROVIDERS[name]()
    assert tsql.sample().sql("SELECT count(*), max(steps) FROM rows").rows() == [(2, '{"TILE": 8}')]
    store = tsql.create("memory:")
    with store.append("night-7", platform="a100") as stream:
        stream.write(PROVIDERS[name]())
    assert stream.report is not None and stream.report.records == 2


CONSUMERS: dict[str, Callable[[Any], Any]] = {
    "pyarrow table": lambda rows: pyarrow.table(rows).num_rows,
    "polars frame": lambda rows: len(module("polars").DataFrame(rows)),
    "pandas frame": lambda rows: len(module("pandas").DataFrame.from_arrow(rows)),
    "arro3 table": lambda rows: module("arro3.core").Table.from_arrow(rows).num_rows,
    "arro3 batch": lambda rows: module("arro3.core").RecordBatch.from_arrow(rows).num_rows,
}


STREAMS = ("duckdb relation", "pyarrow reader", "narwhals frame")


@pytest.mark.parametrize("name", [*CONSUMERS, *STREAMS])
def test_other_packages_read_results_and_batches(name: str) -> None:
    sql = "SELECT line, platform, repeats_ns FROM records LIMIT 3"
    streams = {
        "duckdb relation": lambda rows: module("duckdb").sql("SELECT count(*) FROM rows").fetchone()[0],
        "pyarrow reader": lambda rows: pyarrow.RecordBatchReader.from_stream(rows).read_all().num_rows,
        "narwhals frame": lambda rows: len(module("narwhals").from_arrow(rows, backend=importlib.import_module("pyarrow"))),
    }
    assert (CONSUMERS | streams)[name](tsql.sample().sql(sql)) == 3
    batch = next(iter(tsql.sample().sql(sql)))
    assert (CONSUMERS | streams)[name](batch) == (CONSUMERS | streams)[name](batch) == 3


def test_training_batches_are_arrow_streams() -> None:
    batch = next(iter(tsql.create("memory:").training_rows("SELECT value, value % 7 AS k FROM range(480)", group="k")))
    reader = pyarrow.RecordBatchReader.from_stream(batch)
    assert reader.schema.names == pyarrow.schema(batch).names and reader.read_all().num_rows == len(batch)


def test_requested_types_are_those_of_the_rows() -> None:
    schema = pyarrow.schema([("line", pyarrow.int32())])
    result = tsql.sample().sql("SELECT line FROM records LIMIT 2")
    assert pyarrow.RecordBatchReader.from_stream(result, schema=schema).schema == schema
    batch = next(iter(tsql.sample().sql("SELECT line FROM records ORDER BY line LIMIT 2")))
    assert pyarrow.RecordBatchReader.from_stream(batch, schema=schema).read_all()["line"].to_pylist() == [1, 1]
    capsules = batch.__arrow_c_array__(schema.__arrow_c_schema__())
    assert pyarrow.RecordBatch._import_from_c_capsule(*capsules).schema == schema
    two, struct = [("a", pyarrow.int32()), ("b", pyarrow.int32())], [("line", pyarrow.struct([("a", pyarrow.int32())]))]
    for wrong, text in ((two, "1 columns, expected 2"), (struct, "Struct")):
        with pytest.raises(tsql.errors.ArgumentError, match=text):
            batch.__arrow_c_stream__(pyarrow.schema(wrong).__arrow_c_schema__())


@pytest.mark.parametrize(
    ("sql", "type_name", "rows"),
    [
        ("SELECT 1 AS n UNION ALL SELECT 1.5", "Float64", [1.0, 1.5]),
        ("SELECT NULL AS n UNION ALL SELECT 1", "Int64", [None, 1]),
        ("SELECT CASE WHEN column1 = 1 THEN 1 ELSE 2.5 END AS n FROM (VALUES (1), (2))", "Float64", [1.0, 2.5]),
    ],
)
def test_columns_have_the_types_of_their_rows(sql: str, type_name: str, rows: list[float | None]) -> None:
    result = tsql.sample().sql(sql)
    assert [column.type for column in result.columns] == [type_name]
    assert sorted(pyarrow.table(result).column("n").to_pylist(), key=str) == sorted(rows, key=str)


def test_values_without_rows_are_errors_with_hints() -> None:
    polars = module("polars")
    frame, lazy = polars.DataFrame(ROWS), polars.LazyFrame({"a": [1]})
    store = tsql.create("memory:")
    with pytest.raises(tsql.errors.ArgumentError, match=r"`DataFrame` has rows.*\nhint: with store.append"):
        store.ingest(frame)
    for value in (lazy, 5):
        with pytest.raises(tsql.errors.ArgumentError, match="has no records\nhint: .*`collect"):
            with store.append("night-7", platform="a100") as stream:
                stream.write(value)
    with pytest.raises(tsql.errors.ArgumentError, match="`LazyFrame` is not a table"):
        store.sql("SELECT * FROM rows", tables={"rows": lazy})
