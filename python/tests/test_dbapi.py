"""DB-API 2.0: the rules of PEP 249 that hold for a read-only store, as the public test suite dbapi20 checks them."""

from __future__ import annotations

import datetime
import doctest
import gc
import pickle
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from conftest import CHECKOUT, DATA
from test_processes import LONG

import tsql
from tsql import dbapi
from tsql._sql_text import dropped_query_count, parameter_names, statement_count

ROWS = "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c'), (4, 'd'), (5, 'e')) AS t(n, x) ORDER BY n"
MANY = "SELECT value FROM range(100000) ORDER BY value"
FAILS_LATE = "SELECT CAST(CASE WHEN value = 90000 THEN 'x' ELSE '1' END AS INT) AS n FROM range(100000)"


@pytest.fixture
def connection() -> Iterator[dbapi.Connection]:
    with tsql.connect(store="sample:") as connection:
        yield connection


@pytest.fixture
def cursor(connection: dbapi.Connection) -> dbapi.Cursor:
    return connection.cursor()


def test_globals_are_those_of_the_pep() -> None:
    assert (dbapi.apilevel, dbapi.threadsafety, dbapi.paramstyle) == ("2.0", 2, "qmark")
    assert tsql.connect is dbapi.connect


def test_exceptions_form_the_hierarchy_of_the_pep(connection: dbapi.Connection) -> None:
    assert issubclass(dbapi.Warning, Exception) and not issubclass(dbapi.Warning, dbapi.Error)
    assert issubclass(dbapi.InterfaceError, dbapi.Error) and not issubclass(dbapi.InterfaceError, dbapi.DatabaseError)
    names = ("DataError", "OperationalError", "IntegrityError", "InternalError", "ProgrammingError", "NotSupportedError")
    for name in names:
        assert issubclass(getattr(dbapi, name), dbapi.DatabaseError)
    for name in ("Warning", "Error", "InterfaceError", "DatabaseError", *names):
        assert getattr(connection, name) is getattr(dbapi, name) and getattr(dbapi, name).__module__ == "tsql.dbapi"
    assert issubclass(dbapi.Error, tsql.Error)


def test_every_class_of_errors_has_one_of_the_pep() -> None:
    from tsql._dbapi_errors import _CLASSES

    own = {getattr(tsql.errors, name) for name in tsql.errors.__all__} - {tsql.Error}
    assert own == set(_CLASSES) and all(issubclass(one, dbapi.Error) for one in _CLASSES.values())


@pytest.mark.parametrize(
    ("sql", "parameters", "kind", "text"),
    [
        ("SELECT runtime FROM records", None, dbapi.ProgrammingError, "did you mean `runtime_ns`"),
        ("SELEC 1", None, dbapi.ProgrammingError, "hint: did you mean `SELECT`"),
        ("", None, dbapi.ProgrammingError, "empty"),
        ("SELECT 1; SELECT 2", None, dbapi.ProgrammingError, "2 statements, expected one"),
        ("CREATE TABLE t (a INT)", None, dbapi.NotSupportedError, "hint: `WITH"),
        ("SET datafusion.execution.batch_size = 5", None, dbapi.NotSupportedError, "no effect"),
        ("INSERT INTO records VALUES (1)", None, dbapi.ProgrammingError, "store.append"),
        ("SELECT 1 / 0", None, dbapi.DatabaseError, "zero"),
        ("SELECT ?", None, dbapi.ProgrammingError, "1 `?`, but 0 values"),
        ("SELECT ?", [1, 2], dbapi.ProgrammingError, "1 `?`, but 2 values"),
        ("SELECT 1", [1], dbapi.ProgrammingError, "0 `$1`"),
        ("SELECT $a", {}, dbapi.ProgrammingError, "`$a` has no value"),
        ("SELECT $a", {"a": 1, "b": 2}, dbapi.ProgrammingError, "no parameter named `b`"),
        ("SELECT ?", "x", dbapi.ProgrammingError, "`str` is not a list of parameters"),
        ("SELECT ?", 5, dbapi.ProgrammingError, "`int` is not a list of parameters"),
        ("SELECT ?", [object()], dbapi.ProgrammingError, "`object` is not a parameter"),
        ("SELECT ?", [datetime.time(10, tzinfo=datetime.UTC)], dbapi.ProgrammingError, "hint: pass a datetime"),
        ("SELECT ?", [datetime.timedelta(1)], dbapi.ProgrammingError, "`timedelta` is not a parameter"),
        ("SELECT count(*) FROM ?", ["records"], dbapi.ProgrammingError, "found `$1`"),
        (5, None, dbapi.ProgrammingError, "`int` is not SQL"),
    ],
)
def test_rejected_statements_keep_their_hints(
    cursor: dbapi.Cursor, sql: Any, parameters: Any, kind: type[dbapi.Error], text: str
) -> None:
    with pytest.raises(kind) as raised:
        cursor.execute(sql, parameters)
    assert type(raised.value) is kind and text in str(raised.value)
    assert cursor.description is None
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchone()
    assert cursor.execute("SELECT 1").fetchall() == [(1,)]


def test_errors_keep_attributes_and_can_be_pickled(cursor: dbapi.Cursor) -> None:
    with pytest.raises(tsql.Error) as raised:
        cursor.execute("SELECT runtime FROM records")
    error = pickle.loads(pickle.dumps(raised.value))
    assert type(error) is dbapi.ProgrammingError and str(error) == str(raised.value)
    assert (error.kind, error.line, error.column) == ("sql", 1, 8)


def test_a_missing_store_is_an_error_and_creates_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(dbapi.OperationalError, match="hint: "):
        tsql.connect(tmp_path / "missing")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(dbapi.OperationalError, match="no store here or above"):
        tsql.connect()
    for wrong in ("", 5):
        with pytest.raises(dbapi.ProgrammingError, match="location"):
            tsql.connect(wrong)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())
    with pytest.raises(dbapi.OperationalError):
        tsql.connect("sample:", at="records@99")
    with pytest.raises(dbapi.ProgrammingError, match="`at` is an option of opening a store"):
        tsql.connect(tsql.sample(), at="v1.0")


def test_commit_does_nothing_and_rollback_is_not_supported(connection: dbapi.Connection) -> None:
    connection.commit()
    with pytest.raises(dbapi.NotSupportedError, match="no transactions"):
        connection.rollback()


def test_a_closed_connection_rejects_every_call(connection: dbapi.Connection) -> None:
    cursor = connection.cursor().execute(ROWS)
    connection.close()
    connection.close()
    calls: list[Callable[[], Any]] = [connection.cursor, connection.commit, connection.rollback, connection.__enter__]
    calls += [cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetch_arrow_table]
    calls += [lambda: cursor.execute("SELECT 1"), lambda: list(cursor)]
    for call in calls:
        with pytest.raises(dbapi.InterfaceError, match="this connection was closed"):
            call()
    assert "closed" in repr(connection)


def test_a_closed_cursor_rejects_every_call(cursor: dbapi.Cursor) -> None:
    with cursor:
        cursor.execute(ROWS)
    cursor.close()
    calls: list[Callable[[], Any]] = [cursor.fetchone, cursor.fetchmany, cursor.fetchall, cursor.fetch_record_batch]
    calls += [lambda: cursor.execute("SELECT 1"), lambda: cursor.executemany("SELECT ?", [[1]]), lambda: list(cursor)]
    calls += [cursor.__enter__]
    calls += [lambda: cursor.setinputsizes([1]), lambda: cursor.setoutputsize(1)]
    for call in calls:
        with pytest.raises(dbapi.InterfaceError, match="this cursor was closed"):
            call()
    assert cursor.description is None
    assert cursor.connection.cursor().execute("SELECT 1").fetchone() == (1,)


def test_an_open_store_stays_open() -> None:
    store = tsql.sample()
    with tsql.connect(store) as connection:
        assert connection.store is store
    assert store.sql("SELECT 1").scalar() == 1
    connection = tsql.connect(store)
    store.close()
    with pytest.raises(dbapi.InterfaceError, match="this store was closed"):
        connection.cursor().execute("SELECT 1")


def test_description_has_seven_items_with_type_codes(cursor: dbapi.Cursor) -> None:
    assert cursor.description is None and cursor.rowcount == -1
    columns = "platform, line, runtime_ns, measured_at, repeats_ns"
    computed = "CAST('a' AS BYTEA) AS b, DATE '2026-01-01' AS d, 1 = 1 AS f"
    cursor.execute(f"SELECT {columns}, {computed} FROM records")
    assert cursor.description is not None and {len(column) for column in cursor.description} == {7}
    kinds = (dbapi.STRING, dbapi.BINARY, dbapi.NUMBER, dbapi.DATETIME, dbapi.ROWID)
    found = {name: [kind for kind in kinds if code == kind] for name, code, *_ in cursor.description}
    assert found == {
        "platform": [dbapi.STRING],
        "line": [dbapi.NUMBER],
        "runtime_ns": [dbapi.NUMBER],
        "b": [dbapi.BINARY],
        "measured_at": [dbapi.DATETIME],
        "d": [dbapi.DATETIME],
        "repeats_ns": [],
        "f": [],
    }
    assert [column[0] for column in cursor.description if column[6]] == ["runtime_ns", "measured_at", "repeats_ns"]
    assert len({*kinds}) == 5 and dbapi.STRING != dbapi.BINARY and repr(dbapi.STRING) == "tsql.dbapi.STRING"


def test_fetches_return_the_rows_once_and_in_order(cursor: dbapi.Cursor) -> None:
    fetches: list[Callable[[], Any]] = [cursor.fetchone, cursor.fetchmany, cursor.fetchall]
    for fetch in fetches:
        with pytest.raises(dbapi.InterfaceError, match="there is no result"):
            fetch()
    assert cursor.execute(ROWS) is cursor and cursor.rownumber == 0
    assert cursor.fetchone() == (1, "a") and cursor.rownumber == 1
    assert cursor.fetchmany() == [(2, "b")]
    cursor.arraysize = 2
    assert cursor.fetchmany() == [(3, "c"), (4, "d")]
    assert cursor.fetchmany(0) == []
    with pytest.raises(dbapi.ProgrammingError, match="`-1` is not a number of rows"):
        cursor.fetchmany(-1)
    assert cursor.fetchmany(size=10) == [(5, "e")] and cursor.rownumber == 5
    assert (cursor.fetchone(), cursor.fetchmany(), cursor.fetchall()) == (None, [], [])
    assert cursor.execute("SELECT 1 WHERE false").fetchall() == []
    assert cursor.execute("SELECT 1 WHERE false").fetchone() is None
    assert list(cursor.execute(ROWS)) == cursor.execute(ROWS).fetchall()


def test_fetches_cross_the_borders_of_batches(cursor: dbapi.Cursor) -> None:
    cursor.execute(MANY)
    first, some = cursor.fetchone(), cursor.fetchmany(30_000)
    rest = [next(cursor) for _ in range(5)] + cursor.fetchall()
    assert [first, *some, *rest] == [(number,) for number in range(100_000)]


def test_parameters_are_values_and_never_sql(cursor: dbapi.Cursor) -> None:
    evil = "x' OR '1'='1"
    assert cursor.execute("SELECT count(*) FROM records WHERE platform = ?", [evil]).fetchone() == (0,)
    assert cursor.execute("SELECT $a, '?', \"b\" FROM (SELECT $b AS b)", {"a": evil, "b": 1}).fetchone() == (evil, "?", 1)
    values = ["ü'\"\\;--", 1, 2**63, 1.5, True, None, b"\0\xff"]
    values += [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3, 4, 5)]
    names = ", ".join("?" for _ in values)
    assert cursor.execute(f"SELECT {names}", values).fetchone() == tuple(values)
    assert cursor.execute("SELECT ?, ?", (bytearray(b"ab"), memoryview(b"cd"))).fetchone() == (b"ab", b"cd")
    assert cursor.execute("SELECT $2, $1", iter([1, 2])).fetchone() == (2, 1)


def test_constructors_create_parameters(cursor: dbapi.Cursor) -> None:
    ticks = time.mktime((2026, 1, 2, 3, 4, 5, 0, 0, -1))
    assert dbapi.DateFromTicks(ticks) == dbapi.Date(2026, 1, 2)
    assert dbapi.TimeFromTicks(ticks) == dbapi.Time(3, 4, 5)
    assert dbapi.TimestampFromTicks(ticks) == dbapi.Timestamp(2026, 1, 2, 3, 4, 5)
    values = (dbapi.Date(2026, 1, 2), dbapi.Timestamp(2026, 1, 2, 3, 4, 5), dbapi.Binary(b"ab"))
    assert cursor.execute("SELECT ?, ?, ?", values).fetchone() == values


def test_executemany_runs_each_and_leaves_no_result(cursor: dbapi.Cursor, tmp_path: Path) -> None:
    sql = f"COPY (SELECT value FROM range(10)) TO '{tmp_path}/rows.csv'"
    assert cursor.execute(sql).rownumber == 0 and (tmp_path / "rows.csv").exists(), "runs before its row is read"
    assert cursor.executemany("SELECT ? + value FROM range(100000)", [[1], (2,), iter([3])]) is cursor
    assert cursor.description is None
    with pytest.raises(dbapi.InterfaceError):
        cursor.fetchall()
    with pytest.raises(dbapi.ProgrammingError, match="but 2 values"):
        cursor.executemany("SELECT ?", [[1], [1, 2]])
    cursor.executemany("SELECT ?", [])
    cursor.setinputsizes([25])
    cursor.setoutputsize(1000, 1)


def test_a_late_error_is_no_end_of_the_rows(cursor: dbapi.Cursor) -> None:
    cursor.execute(FAILS_LATE)
    with pytest.raises(dbapi.DatabaseError, match="cast"):
        cursor.fetchall()
    with pytest.raises(dbapi.InterfaceError, match="there is no result"):
        cursor.fetchone()
    with pytest.raises(dbapi.DatabaseError, match="cast"):
        cursor.execute(FAILS_LATE).fetch_arrow_table()
    result = tsql.sample().sql(FAILS_LATE)
    with pytest.raises(tsql.Error, match="cast"):
        result.fetchall()
    with pytest.raises(tsql.errors.ClosedError):
        result.fetchone()


def test_a_cursor_reads_ahead_only_a_little() -> None:
    program = """
import resource, tsql
cursor = tsql.connect("sample:").cursor()
cursor.execute("SELECT 1").fetchall()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
cursor.execute("SELECT x, x * 2 AS y, x * 3 AS z FROM generate_series(1, 40000000) AS t(x)")
first = cursor.fetchone()
rows = sum(len(cursor.fetchmany(10000)) for _ in range(200))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(first[1] - 2 * first[0], rows, (after - before) // 1024)
"""
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert output.startswith("0 2000000 ") and int(output.split()[-1]) < 300


@pytest.mark.parametrize("fetch", ["execute", "fetchall", "fetch_arrow_table"])
def test_ctrl_c_ends_a_query_and_the_next_one_works(fetch: str) -> None:
    sql = LONG if fetch == "execute" else "SELECT x FROM generate_series(1, 3000000000) AS t(x)"
    program = f"""
import signal, time, tsql
signal.signal(signal.SIGINT, signal.default_int_handler)
cursor = tsql.connect("sample:").cursor()
print("runs", flush=True)
try:
    cursor.execute({sql!r})
    {"" if fetch == "execute" else f"cursor.{fetch}()"}
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
try:
    cursor.fetchone()
except tsql.dbapi.InterfaceError:
    print(cursor.execute("SELECT 42").fetchone()[0], flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None and child.stdout.readline() == "runs\n"
    time.sleep(1)
    pressed = time.time()
    child.send_signal(signal.SIGINT)
    output, _ = child.communicate(timeout=60)
    interrupted, following = output.splitlines()
    assert float(interrupted.split()[1]) - pressed < 0.5 and following == "42"


def test_each_query_reads_the_newest_state(own: tsql.Store) -> None:
    with tsql.connect(own.location) as connection, connection.cursor() as cursor:
        assert cursor.execute("SELECT count(*) FROM records").fetchone() == (0,)
        running = connection.cursor().execute("SELECT line FROM records ORDER BY line")
        own.ingest(DATA / "epyc-1t")
        assert running.fetchall() == []
        assert cursor.execute("SELECT count(*) FROM records").fetchone() == (240,)
        pinned = tsql.connect(own.location, at="records@0")
        assert pinned.cursor().execute("SELECT count(*) FROM records").fetchone() == (0,)


def test_threads_share_a_connection(connection: dbapi.Connection) -> None:
    counts: list[Any] = []

    def count() -> None:
        counts.append(connection.cursor().execute("SELECT count(*) FROM records").fetchone())

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == [(480,)] * 8


def test_a_connection_does_not_keep_cursors_alive(connection: dbapi.Connection) -> None:
    cursor = weakref.ref(connection.cursor().execute(MANY))
    gc.collect()
    assert cursor() is None


def test_rows_are_arrow_too(cursor: dbapi.Cursor) -> None:
    table = cursor.execute(MANY).fetch_arrow_table()
    assert table.num_rows == 100_000 and table.schema.field("value").type == pyarrow.int64()
    assert cursor.fetchone() is None and cursor.fetch_arrow_table().num_rows == 0
    cursor.execute(MANY).fetchmany(9_000)
    rest = cursor.fetch_arrow_table()
    assert rest.num_rows == 91_000 and rest["value"][0].as_py() == 9_000
    reader = cursor.execute(MANY).fetch_record_batch()
    assert isinstance(reader, pyarrow.RecordBatchReader) and reader.read_next_batch().num_rows < 100_000
    assert cursor.execute("SELECT 1 AS a WHERE false").fetch_arrow_table().schema.names == ["a"]
    assert cursor.execute(ROWS).fetch_df()["x"].tolist() == list("abcde")
    assert cursor.execute(ROWS).fetch_polars().shape == (5, 2)


def test_pandas_and_polars_read_a_connection(connection: dbapi.Connection) -> None:
    import pandas
    import polars

    sql = "SELECT platform, count(*) AS n FROM records WHERE line < ? GROUP BY 1 ORDER BY 1"
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        frame = pandas.read_sql(sql, connection, params=(5,))  # type: ignore[call-overload]
    assert frame.columns.tolist() == ["platform", "n"] and len(frame) == 2
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        chunks = pandas.read_sql("SELECT line FROM records", connection, chunksize=300)  # type: ignore[call-overload]
        assert [len(chunk) for chunk in chunks] == [300, 180]
    with pytest.warns(UserWarning, match="SQLAlchemy"):
        named = pandas.read_sql("SELECT $day AS day, $day AS t", connection, params={"day": datetime.date(2026, 1, 2)}, index_col="day", parse_dates=["t"])  # type: ignore[call-overload]
    assert named["t"].tolist() == [pandas.Timestamp(2026, 1, 2)] and named.index.tolist() == [datetime.date(2026, 1, 2)]
    assert polars.read_database(sql.replace("?", "5"), connection).rows() == list(frame.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("", 0),
        (" ;; -- a;b\n /* ; /* ; */ ; */", 0),
        ("SELECT 1", 1),
        ("SELECT 1;-- ;\n;", 1),
        ("SELECT 'a;''b;', \"c;\", E'd\\';', $$e;$$, $x$f;$$g;$x$", 1),
        ("SELECT 'a\\'; SELECT 'b'", 2),
        ("SELECT a$b; SELECT $b", 2),
        ("SELECT 'open; SELECT 1", 1),
        ("SELECT /* open; ", 1),
    ],
)
def test_statements_are_counted_outside_of_quotes_and_comments(sql: str, count: int) -> None:
    assert statement_count(sql) == count


def test_queries_before_the_last_statement_are_counted() -> None:
    assert dropped_query_count("SELECT 1") == dropped_query_count("SELECT 'a;b'; -- ;\n") == 0
    assert dropped_query_count("CREATE VIEW v AS SELECT 1; SET a = 1; copy (SELECT 1) TO 'x.csv'; SELECT 2") == 0
    assert dropped_query_count("SELECT 1; FROM v; WITH a AS (SELECT 1) FROM a; (SELECT 3); SELECT 4") == 4


def test_names_of_parameters_are_found_outside_of_quotes_and_comments() -> None:
    assert parameter_names("SELECT $a, $b_1, $a, $1, x$y, '$c', \"$d\", $$ $e $$ -- $f\n /* $g */") == ["a", "b_1"]


def test_examples_of_the_guide_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy")
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(CHECKOUT / "docs" / "how-to" / "python-databases.md"), module_relative=False)
    assert done.failed == 0 and done.attempted >= 10
