"""Queries, and conversions of results for other packages."""

from __future__ import annotations

import datetime
import math
import threading
from pathlib import Path
from typing import Any

import duckdb
import numpy
import pandas
import polars
import pyarrow
import pytest

import tsql

QUERIES = [
    "SELECT platform, count(*) AS n FROM records GROUP BY 1 ORDER BY 1",
    "SELECT platform, status, min(runtime_ns), max(runtime_ns) FROM records GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT graph_id, line, runtime_ns FROM records ORDER BY source_id, line LIMIT 50",
    "SELECT avg(runtime_ns), stddev(runtime_ns) FROM records WHERE status = 'ok'",
    "SELECT workload_key FROM graphs WHERE workload_key IS NOT NULL ORDER BY 1",
    "SELECT line % 7 AS k, count(*) AS n, sum(line) AS s FROM records GROUP BY 1 ORDER BY 1",
    "SELECT platform, median(runtime_ns) FROM records GROUP BY 1 ORDER BY 1",
    "SELECT name, bytes_in FROM (SELECT name, length(name) AS bytes_in FROM files) ORDER BY 1",
    "SELECT measured_at FROM records WHERE measured_at IS NOT NULL ORDER BY 1 LIMIT 20",
    "SELECT runtime_ns FROM records ORDER BY runtime_ns NULLS FIRST LIMIT 40",
    "SELECT error_no, count(*) FROM records GROUP BY 1 ORDER BY 1",
    "SELECT 1 AS one WHERE false",
]


def plain(value: Any) -> Any:
    """A value as plain Python, from any package."""
    if value is None or value is pandas.NaT or value is numpy.ma.masked:
        return None
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, (pandas.Timestamp, datetime.datetime)):
        return value.replace(tzinfo=None).isoformat()
    return round(float(value), 6) if isinstance(value, (float, numpy.floating)) else value


@pytest.mark.parametrize("sql", QUERIES)
def test_results_are_equal_through_all_packages(store: tsql.Store, sql: str) -> None:
    rows = [tuple(map(plain, row)) for row in store.sql(sql).rows()]
    arrow = store.sql(sql).arrow()
    assert [tuple(map(plain, row.values())) for row in arrow.to_pylist()] == rows
    assert [tuple(map(plain, row)) for row in store.sql(sql).pl().rows()] == rows
    frame = store.sql(sql).df()
    found = [tuple(map(plain, row)) for row in frame.itertuples(index=False, name=None)]
    assert found == rows
    result = store.sql(sql)
    found = duckdb.sql("SELECT * FROM result").to_arrow_table().to_pylist()
    assert [tuple(map(plain, row.values())) for row in found] == rows
    batches = list(store.sql(sql))
    assert [tuple(map(plain, row)) for batch in batches for row in batch.rows()] == rows
    del result


def test_numbers_are_numpys(store: tsql.Store) -> None:
    arrays = store.sql(
        "SELECT line, CAST(line AS FLOAT) AS f, line > 3 AS flag, arrow_cast([1, 2, 3], 'FixedSizeList(3, Int32)') AS three,"
        " platform, CASE WHEN line > 3 THEN line END AS some FROM records ORDER BY source_id, line LIMIT 6"
    ).numpy()
    assert arrays["f"].dtype == numpy.float32 and arrays["flag"].dtype == numpy.bool_
    assert arrays["three"].shape == (6, 3) and arrays["three"][5].tolist() == [1, 2, 3]
    assert arrays["platform"].dtype == object
    some = arrays["some"]
    assert isinstance(some, numpy.ma.MaskedArray)
    assert (some.mask == (arrays["line"] <= 3)).all() and some.sum() == arrays["line"][arrays["line"] > 3].sum()


def test_one_batch_is_not_copied(store: tsql.Store) -> None:
    batch = next(iter(store.sql("SELECT line FROM records LIMIT 10")))
    one, other = batch.numpy()["line"], batch.numpy()["line"]
    assert one.ctypes.data == other.ctypes.data and not one.flags.writeable


def test_nested_values_are_pythons(store: tsql.Store) -> None:
    sql = (
        "SELECT [1, NULL, 3] AS list, named_struct('a', 1, 'b', 'x') AS struct, X'00ff' AS bytes, DATE '2026-11-24' AS day,"
        " TIMESTAMP '2026-11-24 01:02:03.5' AS time, CAST(1.5 AS DECIMAL(5, 2)) AS decimal, NULL AS nothing, true AS flag"
    )
    (row,) = store.sql(sql).rows()
    assert row[:3] == ([1, None, 3], {"a": 1, "b": "x"}, b"\x00\xff")
    assert row[3] == datetime.date(2026, 11, 24) and row[4] == datetime.datetime(2026, 11, 24, 1, 2, 3, 500000)
    assert (str(row[5]), row[6], row[7]) == ("1.50", None, True)


@pytest.mark.parametrize(
    ("value", "sql"),
    [
        (3, "$v = 3"),
        (2**63 + 5, "$v > 9223372036854775807"),
        (1.5, "$v = 1.5"),
        ("it's", "$v = 'it''s'"),
        (True, "$v"),
        (None, "$v IS NULL"),
        (b"\x00\xff", "$v = X'00ff'"),
        (datetime.date(2026, 11, 24), "$v = DATE '2026-11-24'"),
        (datetime.datetime(2026, 11, 24, 1, 2), "$v = TIMESTAMP '2026-11-24 01:02:00'"),
        ([1, 2, 3], "array_has($v, 2)"),
        (numpy.float32(0.5), "$v = 0.5"),
        (numpy.int64(7), "$v = 7"),
    ],
)
def test_parameters_of_all_types(store: tsql.Store, value: object, sql: str) -> None:
    assert store.sql(f"SELECT {sql}", {"v": value}).scalar() is True


def test_parameters_that_do_not_fit(store: tsql.Store) -> None:
    sql = "SELECT count(*) FROM records WHERE platform = $platform"
    with pytest.raises(tsql.errors.ArgumentError, match="no value"):
        store.sql(sql)
    with pytest.raises(tsql.errors.UnknownName) as unknown:
        store.sql(sql, {"platfrom": "x"})
    assert unknown.value.known_names == ["platform"] and unknown.value.kind == "unknown_name"
    with pytest.raises(tsql.errors.ArgumentError, match="`object`"):
        store.sql(sql, {"platform": object()})


def test_frames_are_tables(store: tsql.Store) -> None:
    columns = {"platform": ["epyc-1t", "epyc-2t"], "weight": [1, 2]}
    frames = [
        polars.DataFrame(columns),
        pandas.DataFrame(columns),
        pyarrow.table(columns),
        pyarrow.record_batch(columns),
        duckdb.sql("SELECT unnest(['epyc-1t', 'epyc-2t']) AS platform, unnest([1, 2]) AS weight"),
        store.sql("SELECT 'epyc-1t' AS platform, 1 AS weight UNION ALL SELECT 'epyc-2t', 2"),
    ]
    sql = "SELECT sum(weight) FROM mine JOIN (SELECT DISTINCT platform FROM records) USING (platform)"
    for frame in frames:
        assert store.sql(sql, tables={"mine": frame}).scalar() == 3
    with pytest.raises(tsql.errors.ArgumentError, match="is not a table"):
        store.sql(sql, tables={"mine": 7})
    with pytest.raises(tsql.errors.ArgumentError, match="table of the store"):
        store.sql("FROM records", tables={"records": frames[0]})


somewhere = polars.DataFrame({"a": [1, 2]})


def test_variables_of_the_caller_are_tables(store: tsql.Store) -> None:
    here = polars.DataFrame({"a": [1, 2, 3]})
    records = polars.DataFrame({"a": [1]})
    assert store.sql("SELECT sum(a) FROM here").scalar() == 6
    assert store.sql("SELECT sum(a) FROM somewhere").scalar() == 3
    assert store.sql("SELECT count(*) FROM records").scalar() > len(records)
    with pytest.raises(tsql.errors.SqlError):
        store.sql("SELECT sum(a) FROM here", variables=False)

    def deeper() -> object:
        return store.sql("SELECT sum(a) FROM here")

    with pytest.raises(tsql.errors.SqlError):
        deeper()
    assert len(here) == 3


def test_a_result_is_read_once(store: tsql.Store) -> None:
    result = store.sql("SELECT line FROM records LIMIT 3")
    assert "line" in result._repr_html_() and len(result.rows()) == 3
    assert "read already" in result._repr_html_()
    for again in (result.rows, result.arrow, result.numpy, lambda: list(result), lambda: polars.DataFrame(result)):
        with pytest.raises(tsql.errors.ClosedError, match="read already"):
            again()
    looped = store.sql("SELECT line FROM records")
    next(iter(looped))
    with pytest.raises(tsql.errors.ClosedError):
        looped.rows()


def test_two_threads_get_all_rows_once(store: tsql.Store) -> None:
    result = store.sql("SELECT a.line FROM records AS a CROSS JOIN records AS b")
    outcomes: list[object] = []

    def read() -> None:
        try:
            outcomes.append(len(result.rows()))
        except tsql.errors.ClosedError as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    count = store.sql("SELECT count(*) FROM records").scalar()
    assert sorted(map(str, outcomes)) == sorted(map(str, [count * count, *[tsql.errors.ClosedError] * 3]))


def test_requested_schemas_are_honoured(store: tsql.Store) -> None:
    result = store.sql("SELECT 1 AS a, 'x' AS b")
    wanted = pyarrow.schema([("a", pyarrow.int16()), ("b", pyarrow.large_string())])
    reader = pyarrow.RecordBatchReader.from_stream(result, schema=wanted)
    assert reader.read_all().schema == wanted
    wrong = pyarrow.schema([("a", pyarrow.int16())])
    with pytest.raises(tsql.errors.ArgumentError, match="2 columns"):
        pyarrow.RecordBatchReader.from_stream(store.sql("SELECT 1, 2"), schema=wrong)


def test_texts_can_come_without_views(store: tsql.Store) -> None:
    sql = "SELECT platform, array_agg(DISTINCT status) AS all_of_it, named_struct('a', platform) AS one FROM records GROUP BY 1 ORDER BY 1"
    views, plain = store.sql(sql), store.sql(sql, view_types=False)
    units = [(column.name, column.unit, column.doc) for column in views.columns]
    assert units == [(column.name, column.unit, column.doc) for column in plain.columns]
    first, second = views.arrow(), plain.arrow()
    assert "string_view" in str(first.schema) and "view" not in str(second.schema)
    assert first.to_pylist() == second.to_pylist()


def test_closed_stores_run_no_queries_and_batches_stay_valid(tmp_path: Path) -> None:
    store = tsql.create(tmp_path / "s")
    batch = next(iter(store.sql("SELECT 42 AS a")))
    store.close()
    with pytest.raises(tsql.errors.ClosedError, match="store was closed"):
        store.sql("SELECT 1")
    assert batch.numpy()["a"].tolist() == [42]


def test_errors_have_positions(store: tsql.Store) -> None:
    with pytest.raises(tsql.errors.SqlError, match="runtime_ns") as wrong:
        store.sql("SELECT line,\n  runtime FROM records")
    assert (wrong.value.line, wrong.value.column, wrong.value.kind) == (2, 3, "sql")
    with pytest.raises(tsql.errors.NotAStore) as nothing:
        tsql.open("/nowhere/at/all")
    assert nothing.value.location == "/nowhere/at/all" and isinstance(nothing.value, FileNotFoundError)
    failing = store.sql("SELECT 1 / (line - line) FROM records")
    with pytest.raises(tsql.Error):
        failing.rows()


def test_columns_have_units_and_meaning(store: tsql.Store) -> None:
    runtime, made = store.sql("SELECT runtime_ns, line + 1 AS made FROM records").columns
    assert runtime.unit == "ns" and runtime.doc and made.unit is None and made.doc == ""


def test_built_in_queries_are_calls(store: tsql.Store) -> None:
    assert len(store.queries) > 30 and "platform-summary" in store.queries
    rows = store.queries.platform_summary().dicts()
    assert {"epyc-1t", "epyc-2t"} <= {row["platform"] for row in rows}
    few = store.queries.top_k_per_graph(k=1, platform="epyc-1t").rows()
    assert 0 < len(few) < len(store.queries["top-k-per-graph"](k=3, platform="epyc-1t").rows())
    with pytest.raises(tsql.errors.UnknownName):
        store.queries.top_k_per_graph(j=1)
    with pytest.raises(AttributeError, match="unknown query"):
        _ = store.queries.nothing_at_all
    assert "explain" not in store.sql("SELECT 1").explain() and "Exec" in store.sql("FROM records").explain()
