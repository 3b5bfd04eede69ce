"""First steps of a user: a result, or an error that suggests a way out in Python."""

from __future__ import annotations

import datetime
import pickle
import warnings
from decimal import Decimal
from pathlib import Path

import numpy
import pandas
import polars
import pyarrow
import pytest
from conftest import CHECKOUT

import tsql


def text_of(error: pytest.ExceptionInfo[BaseException]) -> str:
    return str(error.value)


def test_every_column_that_is_listed_can_be_queried_by_its_one_name(store: tsql.Store) -> None:
    for table in tsql.tables().values():
        names = [column.name for column in table.columns]
        assert len(names) == len(set(names)), table.name
        listed = ", ".join(f'"{name}"' for name in names)
        assert [column.name for column in store.sql(f"SELECT {listed} FROM {table.name}").columns] == names


def test_units_follow_values_into_aggregates_and_into_arrow(store: tsql.Store) -> None:
    sql = (
        "SELECT platform, runtime_ns AS t, min(runtime_ns) AS best, max(runtime_ns) - min(runtime_ns) AS spread, runtime_ns / 2 AS half"
        " FROM records WHERE status = 'ok' GROUP BY platform, runtime_ns"
    )
    units = [None, "ns", "ns", "ns", None]
    assert [column.unit for column in store.sql(sql).columns] == units
    table = store.sql(sql).arrow()
    assert [(field.metadata or {}).get(b"unit") for field in table.schema] == [unit and unit.encode() for unit in units]
    batch = next(iter(store.sql(sql)))
    assert [column.unit for column in batch.columns] == units
    assert pyarrow.record_batch(batch).schema.field("best").metadata[b"unit"] == b"ns"
    plain = store.sql(sql, view_types=False)
    assert [column.unit for column in plain.columns] == units


def test_a_frame_of_a_result_is_not_a_column_of_objects(store: tsql.Store) -> None:
    result = store.sql("SELECT line, platform FROM records ORDER BY source_id, line LIMIT 3")
    with pytest.raises(tsql.errors.ArgumentError, match=r"result\.df\(\)"):
        pandas.DataFrame(result)
    with pytest.raises(tsql.errors.ArgumentError, match="numpy"):
        numpy.asarray(result)
    assert list(pandas.DataFrame.from_arrow(result).columns) == ["line", "platform"]
    sql = "SELECT line FROM records ORDER BY line, source_id LIMIT 3"
    assert store.sql(sql).to_pandas().equals(store.sql(sql).df())
    assert store.sql(sql).to_polars().equals(store.sql(sql).pl())
    assert store.sql(sql).to_arrow().equals(store.sql(sql).arrow())


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE VIEW v AS SELECT 1",
        "create or replace view v as select * from records",
        "CREATE TABLE t AS SELECT 1",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION 'x.csv'",
        "DROP VIEW v",
        "SET datafusion.execution.batch_size = 100",
        "PREPARE p AS SELECT $1",
        "SELECT 1; CREATE VIEW v AS SELECT 1",
    ],
)
def test_statements_without_effect_are_rejected(store: tsql.Store, sql: str) -> None:
    with pytest.raises(tsql.errors.ArgumentError, match="ends with the call"):
        store.sql(sql)


def test_rows_of_an_earlier_query_are_dropped_with_a_warning(store: tsql.Store, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="rows of the first query are dropped.*\nhint: call `store.sql` for each") as warned:
        assert store.sql("SELECT 1; SELECT 2").rows() == [(2,)]
    assert warned[0].filename == __file__
    with pytest.warns(UserWarning, match="first 2 queries"):
        assert store.sql("SELECT 1; FROM records; SELECT 3").scalar() == 3
    with warnings.catch_warnings(action="error"):
        assert store.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path}/a.csv'; SELECT a FROM '{tmp_path}/a.csv'").scalar() == 1
        assert store.sql("SELECT ';' AS a; -- SELECT 2\n;").scalar() == ";"


def test_views_exist_for_the_call_that_creates_them(store: tsql.Store) -> None:
    sql = "CREATE VIEW v AS SELECT line FROM records WHERE line <= 3; CREATE TABLE t AS FROM v; SELECT count(*) FROM t"
    assert store.sql(sql).scalar() == store.sql("SELECT count(*) FROM records WHERE line <= 3").scalar()


def test_rows_are_fetched_as_from_other_cursors(store: tsql.Store) -> None:
    sql = "SELECT line FROM records ORDER BY source_id, line LIMIT 10"
    rows = store.sql(sql).rows()
    result = store.sql(sql)
    assert result.fetchone() == rows[0] and result.fetchmany(3) == rows[1:4]
    assert result.fetchall() == rows[4:] and result.fetchone() is None and result.fetchall() == []
    assert store.sql(sql).fetchall() == rows and store.sql(sql).fetchmany() == rows[:1]


def test_the_length_of_a_result_does_not_read_its_rows(store: tsql.Store) -> None:
    sql = "SELECT * FROM records CROSS JOIN (VALUES (1), (2), (3)) AS t(x)"
    result = store.sql(sql)
    assert result.head(2) == result.head(2) and len(result.head(0)) == 0
    assert len(result) == len(result) and bool(result)
    assert len(result) == len(result.rows())
    for call in (lambda: len(result), result.head, result.rows):
        with pytest.raises(tsql.errors.ClosedError):
            call()
    empty = store.sql("SELECT 1 AS x WHERE false")
    assert len(empty) == 0 and empty and empty.head() == [] and empty.rows() == []


def test_batches_have_the_requested_size(store: tsql.Store) -> None:
    sql = "SELECT a.line, b.source_id FROM records AS a CROSS JOIN records AS b ORDER BY 1, 2"
    rows = store.sql(sql).rows()
    for size in (1000, 99_999, 10_000_000):
        result = store.sql(sql)
        result.head(7)
        batches = list(result.batches(size))
        assert {len(batch) for batch in batches[:-1]} <= {size} and 0 < len(batches[-1]) <= size
        assert [row for batch in batches for row in batch.rows()] == rows
    with pytest.raises(tsql.errors.ArgumentError, match="at least one row"):
        store.sql(sql).batches(0)


@pytest.mark.parametrize(
    ("sql", "values"),
    [
        ("SELECT ? + ?", [1, 2]),
        ("SELECT $1 + $2", (1, 2)),
        ("SELECT CASE WHEN '?' = ? THEN 3 END -- ?", ["?"]),
        ("SELECT $2 - $1", numpy.array([1, 4])),
    ],
)
def test_parameters_have_names_or_places(store: tsql.Store, sql: str, values: list[object]) -> None:
    assert store.sql(sql, values).scalar() == 3


def test_parameters_that_are_not_a_list_or_too_few(store: tsql.Store) -> None:
    for sql, values in (("SELECT ?, ?", [1]), ("SELECT 1", [1]), ("SELECT $2", [1])):
        with pytest.raises(tsql.errors.ArgumentError, match="values were given"):
            store.sql(sql, values)
    for wrong in ("a100", b"a", 7):
        with pytest.raises(tsql.errors.ArgumentError, match="not a list of parameters"):
            store.sql("SELECT ?", wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (numpy.array([1, 2, 3]), [1, 2, 3]),
        (numpy.array(["a", "b"]), ["a", "b"]),
        (numpy.array(7), 7),
        (pandas.Series([1.5, 2.0]), [1.5, 2.0]),
        (polars.Series(["a", None]), ["a", None]),
        (pyarrow.array([1, None]), [1, None]),
        (pyarrow.scalar(3), 3),
        (range(3), [0, 1, 2]),
        ({5}, [5]),
        (frozenset({"a"}), ["a"]),
        ([1, 2**63], [1, 2**63]),
        ([1, None, 2.5], [1.0, None, 2.5]),
        (pandas.NA, None),
        (pandas.NaT, None),
        (numpy.datetime64("2026-11-24T01:02:03", "ns"), datetime.datetime(2026, 11, 24, 1, 2, 3)),
        (pandas.Timestamp("2026-11-24 01:02:03"), datetime.datetime(2026, 11, 24, 1, 2, 3)),
        (pandas.Series(pandas.to_datetime(["2026-11-24"])), [datetime.datetime(2026, 11, 24)]),
        (numpy.array(["2026-11-24"], dtype="datetime64[ns]"), [datetime.datetime(2026, 11, 24)]),
        (pandas.Series([datetime.time(1)]), [datetime.time(1)]),
        (pyarrow.scalar(Decimal("1.50")), Decimal("1.50")),
        (polars.Series([Decimal("1.50"), Decimal("2")]), [Decimal("1.50"), Decimal("2.00")]),
    ],
)
def test_values_of_other_packages_are_parameters(store: tsql.Store, value: object, expected: object) -> None:
    assert store.sql("SELECT $v", {"v": value}).scalar() == expected


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1, object(), {"a": 1}, 1j, [1, "a"], ["a", 1], [2**64], datetime.timedelta(1)])
def test_values_that_are_no_parameters_are_rejected_with_a_reason(store: tsql.Store, value: object) -> None:
    with pytest.raises(tsql.errors.ArgumentError) as error:
        store.sql("SELECT $v", {"v": value})
    assert "Arrow error" not in text_of(error) and "DataFusion" not in text_of(error), text_of(error)


@pytest.mark.parametrize(
    ("value", "type_name"),
    [
        (Decimal("1.50"), "Decimal128(3, 2)"),
        (Decimal("-0.001"), "Decimal128(3, 3)"),
        (Decimal("1E+3"), "Decimal128(4, 0)"),
        (Decimal("0"), "Decimal128(1, 0)"),
        (Decimal("9" * 38), "Decimal128(38, 0)"),
        (Decimal("-" + "9" * 39), "Decimal256(39, 0)"),
        (Decimal("9" * 76), "Decimal256(76, 0)"),
        (Decimal("1E-50"), "Decimal256(50, 50)"),
        (datetime.time(1, 2, 3), "Time64(ns)"),
        (datetime.time(1, 2, 3, 456789), "Time64(ns)"),
        ([Decimal("1"), Decimal("1.25"), None], "List(Decimal128(3, 2))"),
        ([2**63, Decimal("0.1")], "List(Decimal128(21, 1))"),
        ([Decimal("1.25"), 2], "List(Decimal128(21, 2))"),
        ([Decimal("1.25"), 0.5], "List(Float64)"),
        ([0.5, Decimal("1.25")], "List(Float64)"),
    ],
)
def test_decimals_and_times_are_parameters_without_loss(store: tsql.Store, value: object, type_name: str) -> None:
    assert store.sql("SELECT $v, arrow_typeof($v)", {"v": value}).rows() == [(value, type_name)]


def test_decimals_and_times_are_compared(store: tsql.Store) -> None:
    count = "SELECT count(*) FROM records WHERE "
    assert store.sql(count + "line < ?", [Decimal("2.5")]).scalar() == store.sql(count + "line <= 2").scalar() > 0
    assert store.sql(count + "runtime_ns < ?", [Decimal("100000.5")]).scalar() == store.sql(count + "runtime_ns < 100000.5").scalar()
    assert store.sql("SELECT TIME '10:00:00' < ?, ? - TIME '10:00:00' IS NULL", 2 * [datetime.time(11)]).rows() == [(True, False)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Decimal("NaN"), "`NaN` is not a decimal number\nhint: pass a float"),
        (Decimal("Infinity"), "not a decimal number"),
        (Decimal("9" * 77), "more than 76 digits"),
        (Decimal("1E+1000000"), "more than 76 digits"),
        (Decimal("1E-77"), "more than 76 digits"),
        ([Decimal("9" * 76), Decimal("0.1")], "expected one type"),
        ([Decimal("1"), "a"], "expected one type"),
        (datetime.time(1, tzinfo=datetime.UTC), "time zone\nhint: pass a datetime"),
    ],
)
def test_decimals_and_times_that_do_not_fit_are_errors(store: tsql.Store, value: object, text: str) -> None:
    with pytest.raises(tsql.errors.ArgumentError, match=text):
        store.sql("SELECT $v", {"v": value})


def test_names_of_variables_match_in_any_case(store: tsql.Store) -> None:
    MyFrame = polars.DataFrame({"x": [1, 2]})
    other = {"Given": pyarrow.table({"x": [3]})}
    assert store.sql("SELECT sum(x) FROM MyFrame").scalar() == 3
    assert store.sql("SELECT sum(x) FROM myframe").scalar() == 3
    assert store.sql('SELECT sum(x) FROM "MyFrame"').scalar() == 3
    assert store.sql("SELECT sum(x) FROM Given", tables=other).scalar() == 3
    assert store.sql('SELECT sum(x) FROM "Given"', tables=other).scalar() == 3
    Two, TWO = MyFrame, polars.DataFrame({"x": [5]})
    with pytest.raises(tsql.errors.ArgumentError, match="double quotes"):
        store.sql("SELECT * FROM two")
    assert store.sql('SELECT sum(x) FROM "TWO"').scalar() == 5
    del MyFrame, Two, TWO


def test_a_reader_that_was_read_is_not_an_empty_table(store: tsql.Store) -> None:
    table = pyarrow.table({"x": [1, 2]})
    reader = table.to_reader()
    assert store.sql("SELECT count(*) FROM reader").scalar() == 2
    with pytest.raises(tsql.errors.ArgumentError, match="read_all"):
        store.sql("SELECT count(*) FROM reader")
    late = table.to_reader()
    late.read_all()
    with pytest.raises(tsql.errors.ArgumentError, match="read_all"):
        store.sql("SELECT count(*) FROM t", tables={"t": late})
    none = table.slice(0, 0)
    assert store.sql("SELECT count(*) FROM none").scalar() == 0


def test_frames_are_predictions_and_features(own: tsql.Store) -> None:
    own.ingest(CHECKOUT / "data")
    sql = "SELECT config_key, platform, CAST(min(line) AS DOUBLE) AS prediction FROM records GROUP BY 1, 2"
    predictions = own.sql(sql).df()
    expected = own.score("tenset", f"({sql})", resamples=10)
    for frame in (predictions, polars.from_pandas(predictions), pyarrow.Table.from_pandas(predictions)):
        scores = own.score("tenset", frame, resamples=10)
        assert scores.rows == expected.rows and scores.predictions == type(frame).__name__
    with pytest.raises(tsql.Error) as error:
        own.score("tenset", predictions.drop(columns="config_key"))
    assert "DataFrame" in text_of(error) and ".arrow" not in text_of(error), text_of(error)
    keys = own.sql("SELECT DISTINCT config_key FROM records WHERE dataset = 'tenset'").df()
    imported = own.import_features(keys.assign(a=1.0, b=2.0), "two")
    assert imported.rows == len(keys) and imported.number_count == 2


def test_sizes_are_bytes_or_texts(location: str) -> None:
    for size in ("1GB", "512MiB", 10**9, "none"):
        assert tsql.open(location, memory_limit=size).sql("SELECT 1").scalar() == 1
        assert tsql.create("memory:", memory_limit=size).sql("SELECT 1").scalar() == 1
    for wrong in ("much", "", "-1GB", 0, -5):
        with pytest.raises(tsql.errors.ArgumentError, match="not a size"):
            tsql.open(location, memory_limit=wrong)
    with pytest.raises(tsql.Error):
        tsql.open(location, memory_limit="1MB").sql("SELECT * FROM records ORDER BY runtime_ns").rows()


def test_a_store_without_a_limit_is_opened_again_without_one(location: str) -> None:
    store = tsql.open(location, memory_limit="none")
    for other in (pickle.loads(pickle.dumps(store)), store.at("records@0")):
        assert other.sql("SELECT 1").scalar() == 1
    assert store.check(memory_limit="none").is_sound


def test_lists_are_arguments_of_functions(store: tsql.Store) -> None:
    equal = store.sql("SELECT count(*) FROM records WHERE line = ANY($a)", {"a": [3, 4]}).scalar()
    assert equal > 0
    for lines in ([3, 4], numpy.array([3, 4]), numpy.array([3, 4], dtype="int32")):
        for condition in ("line IN (SELECT unnest($a))", "list_contains($a, line)"):
            sql = f"SELECT count(*) FROM records WHERE {condition}"
            assert store.sql(sql, {"a": lines}).scalar() == equal, (sql, lines)
    assert store.sql("SELECT unnest($a)", {"a": ["x", "y"]}).rows() == [("x",), ("y",)]


def test_the_class_of_stores_names_the_calls_that_open_one() -> None:
    with pytest.raises(TypeError, match=r"hint: `tsql\.open\('mine'\)` opens"):
        tsql.Store("mine")  # type: ignore[arg-type]


def test_an_existing_store_is_opened_or_rejected(tmp_path: Path) -> None:
    place = tmp_path / "mine"
    with pytest.raises(tsql.errors.NotAStore, match="hint: "):
        tsql.open(place)
    tsql.create(place, exist_ok=False).close()
    tsql.create(place).close()
    with pytest.raises(tsql.errors.CannotCreate, match="is a tsql store already\nhint: `tsql.open` opens it"):
        tsql.create(place, exist_ok=False)


def test_the_token_of_workers_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TSQL_TOKEN", "secret")
    assert len(tsql.workers("localhost:1")) == 1
    monkeypatch.setenv("TSQL_TOKEN_FILE", str(tmp_path / "token"))
    for call in (lambda: tsql.workers("localhost:1"), lambda: tsql.open("sample:", workers="localhost:1")):
        with pytest.raises(tsql.errors.Error, match="TSQL_TOKEN and TSQL_TOKEN_FILE are both set"):
            call()


def test_outputs_inside_a_store_are_rejected(tmp_path: Path) -> None:
    store = tsql.create(tmp_path / "mine")
    for write in (store.report_html, store.export, store.publish):
        with pytest.raises(tsql.errors.Error, match="belongs to the store"):
            write(tmp_path / "mine" / "x.html")
    assert not (tmp_path / "mine" / "x.html").exists()


def test_a_file_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "x.csv"
    file.write_text("a\n1\n")
    for place in (file, str(file)):
        with pytest.raises(tsql.errors.NotAStore, match="is a file") as error:
            tsql.open(place)
        assert "ingest" in text_of(error) and error.value.location == str(file)
    for wrong in (7, object(), pandas.DataFrame()):
        with pytest.raises(tsql.errors.ArgumentError, match="not the location of a store"):
            tsql.open(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [(105218432.0, "105218432"), (105218432.25, "105218432.2"), (1234.5678, "1234.57"), (0.1, "0.1"), (1e300, "1e+300"), (1e-7, "1e-07"), (float("nan"), "nan")],
)
def test_numbers_are_shown_with_all_digits_before_the_point(value: float, text: str) -> None:
    shown = tsql.sample().sql("SELECT $v AS x", {"v": value})._repr_html_()
    assert f"<td>{text}</td>" in shown, shown


def test_errors_name_python_calls(own: tsql.Store, tmp_path: Path) -> None:
    with pytest.raises(tsql.errors.NotAStore) as missing:
        tsql.open(tmp_path / "nothing")
    assert "tsql.create" in text_of(missing) and "--" not in text_of(missing)
    assert missing.value.message == text_of(missing)
    with pytest.raises(tsql.Error) as unknown:
        own.sql("SELECT * FROM nothing")
    assert "tsql.tables()" in text_of(unknown)
    with pytest.raises(tsql.Error) as column:
        own.sql("SELECT nothing FROM records")
    assert "`tsql " not in text_of(column)
    with pytest.raises(tsql.Error) as whole:
        own.retract("true", why="x")
    assert "--" not in text_of(whole)


def test_rejected_records_of_a_stream_are_a_warning() -> None:
    store = tsql.create("memory:")
    with pytest.warns(UserWarning, match=r"1 of 2 lines were rejected, first line 2: unknown key `workload`") as warned:
        with store.append("night", platform="a100") as stream:
            good = {"workload_key": ["mm"], "steps": {}, "repeats_ns": [1.5]}
            stream.write([good, {"workload": ["mm"], "steps": {}, "repeats_ns": [1.5]}])
    assert warned[0].filename == __file__
    assert stream.report is not None and stream.report.rejects == 1
