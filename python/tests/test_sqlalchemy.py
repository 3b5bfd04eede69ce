"""The dialect of SQLAlchemy, and packages that read through it."""

from __future__ import annotations

import datetime
import importlib.metadata
import os
import sys
import tomllib
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import CHECKOUT

import tsql

if "TSQL_REQUIRE_PYTHON" in os.environ:
    import sqlalchemy
else:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

import tsql.sqlalchemy as dialect

sa = sqlalchemy


@pytest.fixture(scope="module")
def engine() -> Iterator[Any]:
    engine = sa.create_engine("tsql:///sample:")
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def tables(engine: Any) -> Any:
    metadata = sa.MetaData()
    metadata.reflect(engine, views=True)
    return metadata.tables


def rows(engine: Any, statement: Any) -> list[tuple[Any, ...]]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(statement)]


def test_the_package_declares_the_dialect() -> None:
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    [(name, target)] = project["entry-points"]["sqlalchemy.dialects"].items()
    found = importlib.metadata.EntryPoint(name, target, "sqlalchemy.dialects").load()
    assert name == "tsql" and found is dialect.Dialect and "sqlalchemy" in project["optional-dependencies"]


@pytest.mark.parametrize(
    ("url", "location", "options"),
    [
        ("tsql://", None, {}),
        ("tsql:///logs/store", "logs/store", {}),
        ("tsql:////data/store", "/data/store", {}),
        ("tsql:///s3://bucket/a/b?at=v1.0", "s3://bucket/a/b", {"at": "v1.0"}),
        ("tsql:///sample:?threads=2&memory_limit=1GB", "sample:", {"threads": 2, "memory_limit": "1GB"}),
    ],
)
def test_urls_name_stores(url: str, location: str | None, options: dict[str, Any]) -> None:
    assert dialect.Dialect().create_connect_args(sa.make_url(url)) == ([location], options)


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("tsql://data/store", "hint: tsql:///data/store"),
        ("tsql:///store?limit=1", "no option named `limit`"),
        ("tsql:///store?threads=many", "not a number of threads"),
        ("tsql:///store?at=a&at=b", "several values"),
    ],
)
def test_invalid_urls_are_errors(url: str, text: str) -> None:
    with pytest.raises(sa.exc.ArgumentError, match=text):
        sa.create_engine(url).connect()


def test_a_missing_store_is_an_error_and_creates_no_folder(tmp_path: Path) -> None:
    with pytest.raises(sa.exc.OperationalError, match="hint: "):
        sa.create_engine(f"tsql:///{tmp_path}/missing").connect()
    assert not list(tmp_path.iterdir())


def test_stores_are_opened_by_path_and_state(location: str) -> None:
    engine = sa.create_engine(f"tsql:///{location}")
    assert rows(engine, sa.text("SELECT count(*) > 600 FROM records")) == [(True,)]
    assert rows(sa.create_engine(f"tsql:///{location}?at=records@0"), sa.text("SELECT count(*) FROM records")) == [(0,)]


def test_inspection_shows_the_catalog(engine: Any) -> None:
    inspector = sa.inspect(engine)
    known = tsql.tables()
    assert set(inspector.get_table_names()) | set(inspector.get_view_names()) == set(known)
    assert inspector.get_schema_names() == ["public"] and inspector.default_schema_name == "public"
    assert inspector.has_table("records") and inspector.has_table("nodes") and not inspector.has_table("nothing")
    assert inspector.has_table("records", schema="public") and not inspector.has_table("records", schema="other")
    columns = {column["name"]: column for column in inspector.get_columns("records")}
    assert isinstance(columns["platform"]["type"], sa.Text) and not columns["platform"]["nullable"]
    assert isinstance(columns["runtime_ns"]["type"], sa.Double) and columns["runtime_ns"]["nullable"]
    assert isinstance(columns["repeats_ns"]["type"], sa.ARRAY) and columns["runtime_ns"]["comment"]
    assert columns["measured_at"]["type"].timezone
    for name in known:
        types = [(column["name"], type(column["type"])) for column in inspector.get_columns(name)]
        assert len(types) == len(known[name].columns) and not [one for one in types if one[1] is sa.types.NullType]
    assert inspector.get_pk_constraint("records")["constrained_columns"] == []
    assert inspector.get_foreign_keys("records") == inspector.get_indexes("records") == []
    assert inspector.get_table_comment("records")["text"] == known["records"].doc
    with pytest.raises(sa.exc.NoSuchTableError):
        inspector.get_columns("nothing")


RECORDS = sa.table("records", *map(sa.column, ("platform", "line", "graph_id")))
GRAPHS = sa.table("graphs", sa.column("graph_id"))
CONTAINED = [("a/b", "/b"), ("a%b", "%b"), ("axb", "a%b"), ("a_b", "_b"), ("a\\b", "\\b"), ("a//b", "//"), ("a/x", "/%")]


def statements() -> dict[str, tuple[Any, list[tuple[Any, ...]]]]:
    """Statements and their rows. The sample has 240 records of each of two platforms."""
    platform, line = RECORDS.c.platform, RECORDS.c.line
    count = sa.select(sa.func.count())
    return {
        "group": (
            sa.select(platform, sa.func.count()).group_by(platform).order_by(platform.desc()),
            [("epyc-2t", 240), ("epyc-1t", 240)],
        ),
        "where": (count.where(platform == "epyc-1t"), [(240,)]),
        "injection": (count.where(platform == "x' OR '1'='1"), [(0,)]),
        "in": (count.where(platform.in_(["epyc-1t", "x"])), [(240,)]),
        "in nothing": (count.where(platform.in_([])), [(0,)]),
        "not in nothing": (count.where(platform.not_in([])), [(480,)]),
        "join": (count.select_from(RECORDS.join(GRAPHS, RECORDS.c.graph_id == GRAPHS.c.graph_id)), [(480,)]),
        "limit": (sa.select(line).distinct().order_by(line).limit(2).offset(1), [(2,), (3,)]),
        "offset": (count.select_from(sa.select(line).offset(470).subquery()), [(10,)]),
        "like": (count.where(platform.like("%1t")), [(240,)]),
        "ilike": (count.where(platform.ilike("EPYC%")), [(480,)]),
        "not ilike": (count.where(platform.not_ilike("%1T")), [(240,)]),
        "escape": (count.where(platform.ilike("EPYC/-1T", escape="/")), [(240,)]),
        "contains": (
            sa.select(*(sa.literal(text).contains(part, autoescape=True) for text, part in CONTAINED)),
            [(True, True, False, True, True, True, False)],
        ),
        "regexp": (count.where(platform.regexp_match("1t$"), ~platform.regexp_match("^x")), [(240,)]),
        "division": (sa.select(sa.literal(7) / sa.literal(2), sa.literal(7) // sa.literal(2), sa.literal(7) % 4), [(3.5, 3, 3)]),
        "case": (sa.select(sa.case((sa.true(), 1), else_=0), sa.false(), sa.null()), [(1, False, None)]),
        "exists": (sa.select(sa.exists().where(line == 1)), [(True,)]),
        "cte": (count.select_from(sa.select(line).where(line < 0).cte("c")), [(0,)]),
        "window": (sa.select(sa.func.row_number().over(order_by=line)).order_by(sa.text("1")).limit(1), [(1,)]),
        "tuples": (count.where(sa.tuple_(platform, line).in_([("epyc-1t", 1), ("epyc-2t", -1)])), [(4,)]),
        "types": (
            sa.select(
                sa.cast("1", sa.Integer),
                sa.cast("0.1", sa.Float),
                sa.cast("1.5", sa.Numeric(10, 2)),
                sa.cast("2026-01-02", sa.Date),
                sa.cast("2026-01-02", sa.DateTime),
                sa.cast(1, sa.String),
                sa.cast(b"ab", sa.LargeBinary),
                sa.cast([1, 2], sa.ARRAY(sa.Integer)),
            ),
            [(1, 0.1, Decimal("1.50"), datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2), "1", b"ab", [1, 2])],
        ),
        "text": (sa.text("SELECT count(*), 7 % 4 FROM records WHERE platform = :p").bindparams(p="epyc-1t"), [(240, 3)]),
    }


@pytest.mark.parametrize("name", statements())
def test_statements_return_the_rows(engine: Any, name: str) -> None:
    statement, expected = statements()[name]
    assert rows(engine, statement) == expected


def test_elements_of_lists_are_counted_from_one(engine: Any, tables: Any) -> None:
    repeats = tables["records"].c.repeats_ns
    statement = sa.select(repeats[1], repeats).where(tables["records"].c.status == "ok").limit(1)
    [(first, every)] = rows(engine, statement)
    assert first == every[0] and isinstance(every, list)


def test_errors_keep_hints_and_the_connection_works_afterwards(engine: Any, tables: Any) -> None:
    with engine.connect() as connection:
        with pytest.raises(sa.exc.ProgrammingError, match="did you mean `runtime_ns`"):
            connection.execute(sa.text("SELECT runtime FROM records"))
        with pytest.raises(sa.exc.ProgrammingError, match="store.append"):
            connection.execute(sa.insert(tables["records"]).values(platform="x"))
        connection.rollback()
        connection.commit()
        assert connection.execute(sa.text("SELECT 1")).scalar() == 1
    with pytest.raises(sa.exc.NotSupportedError):
        sa.MetaData().create_all(engine, tables=[sa.Table("own", sa.MetaData(), sa.Column("a", sa.Integer))])


def test_classes_are_mapped_to_tables(engine: Any, tables: Any) -> None:
    from sqlalchemy.orm import DeclarativeBase, Session

    class Base(DeclarativeBase):
        pass

    class Record(Base):
        __table__ = tables["records"]
        __mapper_args__ = {"primary_key": [tables["records"].c.source_id, tables["records"].c.line]}

    with Session(engine) as session:
        assert session.query(Record).filter_by(platform="epyc-1t").count() == 240
        assert session.scalars(sa.select(Record).order_by(Record.line).limit(1)).one().line == 1


def test_decimals_and_times_are_bound_and_returned(engine: Any) -> None:
    values = (Decimal("1.50"), datetime.time(10, 30), datetime.date(2026, 1, 2))
    assert rows(engine, sa.select(*map(sa.literal, values))) == [values]
    assert rows(engine, sa.select(sa.cast("10:30", sa.Time), sa.literal(values[1]) > sa.cast("10:00", sa.Time))) == [(values[1], True)]
    assert isinstance(dialect._type("Time64(ns)"), sa.Time)


def test_jupysql_does_not_write_transact_sql(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("sql.connection.connection")
    module.DIALECT_NAME_SQLALCHEMY_TO_SQLGLOT_MAPPING = {"mssql": "tsql"}  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    sa.create_engine("tsql:///sample:").connect().close()
    assert module.DIALECT_NAME_SQLALCHEMY_TO_SQLGLOT_MAPPING == {"mssql": "tsql", "tsql": "duckdb"}


def test_pandas_and_polars_read_an_engine(engine: Any) -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    sql = sa.text("SELECT platform, count(*) AS n FROM records WHERE platform = :p GROUP BY 1")
    assert pandas.read_sql(sql, engine, params={"p": "epyc-1t"}).to_dict("records") == [{"platform": "epyc-1t", "n": 240}]
    assert pandas.read_sql_table("records", engine, columns=["platform", "line"]).shape == (480, 2)
    assert [len(frame) for frame in pandas.read_sql("SELECT line FROM records", engine, chunksize=300)] == [300, 180]
    assert pandas.read_sql("SELECT count(*) AS n FROM records", "tsql:///sample:")["n"].tolist() == [480]
    frame = pandas.read_sql("SELECT DISTINCT platform, measured_at IS NULL AS x FROM records", engine, index_col="platform", dtype_backend="pyarrow")
    assert sorted(frame.index) == ["epyc-1t", "epyc-2t"] and frame["x"].dtype == "bool[pyarrow]"
    with engine.connect() as connection:
        assert polars.read_database("SELECT line FROM records", connection).shape == (480, 1)
