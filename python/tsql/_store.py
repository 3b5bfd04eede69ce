"""Opens stores, and runs queries on them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._analysis import AnalysisMethods
from ._convert import size_bytes
from ._decode import decoded, decoded_list, lazy_module
from ._deprecated import earlier_arguments, earlier_attributes
from ._features import FeatureMethods
from ._loaders import LoaderMethods
from ._maintenance import MaintenanceMethods
from ._measuring import MeasuringMethods
from ._parameters import named_parameters, tables_in_scope
from ._plot import Kind, Plot
from ._queries import BuiltinQueries
from ._result import Result
from ._scores import ScoringMethods
from ._splits import SplitMethods
from ._sql_text import dropped_query_count
from ._training_files import TrainingFileMethods
from ._ui import Ui
from ._writing import WritingMethods
from .errors import ArgumentError, NotAStore

if TYPE_CHECKING:
    from . import _history_reports
    from ._history_reports import Diff, Version
else:
    _history_reports = lazy_module("_history_reports")

Path = str | PathLike[str]

Size = int | str
"""Bytes, or a text like `"500MB"` or `"2GiB"`, or `"none"` for no limit."""


def open(
    location: Path | None = None,
    *,
    at: str | None = None,
    memory_limit: Size | None = None,
    threads: int | None = None,
    workers: str | None = None,
) -> Store:
    """Opens a store.

    Args:
        location: Folder or `s3://BUCKET/PATH`. Without it, the nearest store in the working directory or above, as the
            command finds it.
        at: State to open: a tag (`"v1.0"`), a time (`"2026-11-21T17:00:00Z"`), a table version (`"records@12"`), or
            the value of `Store.version`. Such a store is read-only.
        memory_limit: Memory of a query in bytes, or a text like `"2GiB"`. Larger data is spilled to temporary files.
            `"none"` is no limit. Without it, a query may use 70 % of the available memory.
        threads: Number of threads; the default is one per core.
        workers: Addresses of machines that run parts of queries, such as `"host:7700,host:7701"`. The token comes from
            the environment variable `TSQL_TOKEN` or `TSQL_TOKEN_FILE`, certificates from `TSQL_TLS_CERT`,
            `TSQL_TLS_KEY`, `TSQL_TLS_CA` and `TSQL_TLS_NAME`.

    Returns:
        The store.

    Raises:
        tsql.errors.NotAStore: If there is no store.
        tsql.errors.NoVersion: If the store does not have the state `at`.

    Examples:
        >>> import tempfile, tsql
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tsql.create(folder).close()
        ...     tsql.open(folder).sql("SELECT count(*) FROM records").scalar()
        0
    """
    path = None if location is None else _path(location)
    if path is not None and "://" not in path and FilePath(path).is_file():
        hint = f"hint: tsql.sample().sql(\"FROM '{path}'\") queries the file, store.ingest({path!r}) ingests it"
        raise NotAStore(f"`{path}` is a file, expected the folder of a store\n{hint}", location=path)
    limit = size_bytes(memory_limit)
    return Store(_native.Store(path, at, None, limit, threads, workers), memory_limit, threads, workers)


def create(
    location: Path, *, exist_ok: bool = True, memory_limit: Size | None = None, threads: int | None = None
) -> Store:
    """Creates a store, or opens the store that the location has.

    Args:
        location: Folder, `s3://BUCKET/PATH`, or `"memory:"` for a store that ends with the process.
        exist_ok: Whether to open an existing store. With `False`, it is an error.
        memory_limit: Memory of a query in bytes, or a text like `"2GiB"`, or `"none"`.
        threads: Number of threads; the default is one per core.

    Returns:
        The store.

    Raises:
        tsql.errors.CannotCreate: If the location has other files, or a store and `exist_ok` is false.

    Examples:
        >>> import tsql
        >>> tsql.create("memory:").sql("SELECT count(*) FROM records").scalar()
        0
    """
    limit = size_bytes(memory_limit)
    create = "open" if exist_ok else "new"
    return Store(_native.Store(_path(location), None, create, limit, threads, None), memory_limit, threads, None)


def sample() -> Store:
    """Opens the built-in sample store: 480 records of five graphs on two platforms.

    Each call returns another copy in memory, so changes are private.

    Returns:
        The store.

    Examples:
        >>> import tsql
        >>> tsql.sample().sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1").rows()
        [('epyc-1t', 240), ('epyc-2t', 240)]
    """
    return Store(_native.Store("sample:"), None, None, None)


@earlier_attributes(
    check_split="split_leaks",
    drop_split="delete_split",
    mend="repair",
    page="report_html",
    questions="queries",
    report="report_graphnet",
)
class Store(
    WritingMethods,
    MaintenanceMethods,
    AnalysisMethods,
    SplitMethods,
    ScoringMethods,
    FeatureMethods,
    TrainingFileMethods,
    LoaderMethods,
    MeasuringMethods,
):
    """A store. `tsql.open`, `tsql.create` and `tsql.sample` return it.

    Threads may share a store. A forked process opens it again. A pickled store has its location, its state (`at`) and
    its limits, and no credentials. A `with` block closes the store at its end.

    Examples:
        >>> import tsql
        >>> with tsql.sample() as store:
        ...     store.sql("SELECT count(*) FROM records").scalar()
        480
    """

    def __init__(
        self,
        native: _native.Store,
        memory_limit: Size | None = None,
        threads: int | None = None,
        workers: str | None = None,
    ) -> None:
        if not isinstance(native, _native.Store):
            location = repr(fspath(native)) if isinstance(native, (str, PathLike)) else "..."
            hint = f"hint: `tsql.open({location})` opens a store, `tsql.create({location})` creates one"
            raise TypeError(f"`tsql.Store` has no constructor for users\n{hint}")
        self._native = native
        self._limits = (memory_limit, threads, workers)

    @property
    def location(self) -> str:
        """Location of the store.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").location
            'memory:'
        """
        return self._native.location

    def __repr__(self) -> str:
        at = f" at {self._native.at}" if self._native.at else ""
        return f"<tsql.Store {self.location}{at}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.location == "memory:":
            raise ArgumentError("a store in memory cannot be pickled, because it ends with its process", name="store")
        return _reopened, (self.location, self._native.at, *self._limits)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the store. Results that are being read remain valid.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> store.close()
            >>> try:
            ...     store.sql("SELECT 1")
            ... except tsql.errors.ClosedError:
            ...     print("closed")
            closed
        """
        self._native.close()

    def sql(
        self,
        sql: str,
        params: Mapping[str, Any] | Iterable[Any] | None = None,
        tables: Mapping[str, Any] | None = None,
        *,
        variables: bool = True,
        view_types: bool = True,
    ) -> Result:
        """Plans a query. It runs when the result is read.

        A file is a table, too: `FROM 'predictions.parquet'`. Views and settings apply to one call, as in
        `"CREATE VIEW v AS SELECT ...; SELECT ... FROM v"`. A call whose last statement creates a view is rejected.

        Args:
            sql: SQL text: one or several statements. All of them run, in order. The result has the rows of the last
                one. An earlier query warns, because its rows are dropped.
            params: Values of `$NAME` by name, or of `?` and `$1` by position: numbers, decimals, texts, bytes, dates,
                times, and lists of these. Arrays of NumPy and series of pandas and polars are lists.
            tables: Tables of this query by name: frames of polars and pandas, tables of pyarrow, relations of DuckDB,
                other results, and anything that exports Arrow. Tables of the store cannot be replaced.
            variables: Whether an unknown name may be a variable of the calling function, or of its module. The case of
                the name does not matter.
            view_types: Whether texts have Arrow's view types, which some readers of Arrow do not support.

        Returns:
            The result.

        Raises:
            tsql.errors.SqlError: If the query is invalid, with its line and column.
            tsql.errors.UnknownName: If a parameter is unknown.
            tsql.errors.ArgumentError: If a parameter has no value, or a table is invalid.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.sql("SELECT count(*) FROM records WHERE platform = $p", {"p": "epyc-1t"}).scalar()
            240
            >>> store.sql("SELECT ? + ?", [1, 2]).scalar()
            3
            >>> numbers = store.sql("SELECT 1 AS n UNION ALL SELECT 2")
            >>> store.sql("SELECT sum(n) FROM numbers").scalar()
            3
        """
        given = dict(tables or {})
        own: Mapping[str, Any] = sys.modules["tsql"].tables() if given else {}
        for name in given:
            if name in own:
                raise ArgumentError(f"`{name}` is a table of the store\nhint: rename yours", name="tables")
        sql, values = named_parameters(sql, params)
        if (effect := _native.ends_with_session(sql)) is not None:
            message = f"{effect} ends with the call, so it has no effect"
            hint = 'hint: one call can have several statements, the query last: "CREATE VIEW v AS ...; SELECT ... FROM v"'
            raise ArgumentError(f"{message}\n{hint}", name="sql")
        if ";" in sql and (count := dropped_query_count(sql)):
            queries = "query" if count == 1 else f"{count} queries"
            message = f"the rows of the first {queries} are dropped, because a call returns those of its last statement"
            warnings.warn(f"{message}\nhint: call `store.sql` for each query", stacklevel=2)
        names = _native.other_tables(sql)
        scopes: list[Mapping[str, Any]] = [given]
        if variables:
            caller = sys._getframe(1)
            scopes += [caller.f_locals, caller.f_globals]
        found = tables_in_scope(names, scopes)
        found |= {name: table for name, table in given.items() if not any(table is other for other in found.values())}
        return Result(self._native.sql(sql, values, found, view_types))

    def plot(self, sql: str, kind: Kind | None = None, **options: Any) -> Plot:
        """Plots the result of a query.

        Args:
            sql: SQL text.
            kind: Kind of the plot; without it, the columns decide.
            **options: `x`, `y`, `by`, `facet`, `low`, `high`, `value`, `limit`, `annotate`, `log`, `title`, `x_title`, `y_title`,
                `theme` and `size`: see `Result.plot`.

        Returns:
            The plot.

        Raises:
            tsql.errors.SqlError: If the query is invalid.
            tsql.errors.ArgumentError: If a column does not exist, or does not fit the plot.

        Examples:
            >>> import tsql
            >>> tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1", "bar")
            <tsql.Plot: bar>
        """
        return self.sql(sql, variables=False).plot(kind, **options)

    def report_html(self, path: Path, name: str | None = None) -> None:
        """Writes the HTML report of the store: content, quality, plots, tables and graphs.

        Args:
            path: File to write.
            name: Title of the report; the default is the location of the store.

        Examples:
            >>> import pathlib, tempfile, tsql
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     file = pathlib.Path(folder, "store.html")
            ...     tsql.create("memory:").report_html(file, name="tuning")
            ...     file.read_text()[:15]
            '<!DOCTYPE html>'
        """
        html = self._native.page(name or fspath(self.location))
        _native.write_file(str(FilePath(fspath(path))), html.encode())

    @earlier_arguments(files="allow_files")
    def ui(self, port: int = 0, *, name: str | None = None, allow_files: bool = False) -> Ui:
        """Serves the web UI of the store on this machine, in the background. It is read-only.

        Args:
            port: Port on 127.0.0.1; 0 selects a free port.
            name: Title of the page; the default is the location of the store.
            allow_files: Whether queries may read files: `FROM 'x.csv'`.

        Returns:
            The running web UI, with its address.

        Raises:
            ValueError: If the port is in use.

        Examples:
            >>> import tsql
            >>> with tsql.create("memory:").ui(name="tuning") as ui:
            ...     ui
            <tsql.Ui>
        """
        return Ui(self._native.ui(port, name or fspath(self.location), allow_files))

    @property
    def queries(self) -> BuiltinQueries:
        """Built-in queries by name, and the user's query files.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> len(store.queries.top_k_per_graph(platform="epyc-1t", k=1))
            5
        """
        return BuiltinQueries(self._native)

    def at(self, at: str) -> Store:
        """Opens another state of the store, read-only.

        Args:
            at: State to open: a tag, a time, a table version or the value of `version`, as for `tsql.open`.

        Returns:
            The store at this state.

        Raises:
            tsql.errors.NoVersion: If the store does not have this state.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> store.at("records@0").sql("SELECT count(*) FROM records").scalar()
            0
        """
        return _reopened(self.location, at, *self._limits)

    def pin(self) -> Store:
        """Opens the current state of the store, read-only. Later commits do not change it.

        Returns:
            The store at this state.

        Examples:
            >>> import tsql
            >>> tsql.sample().pin().version
            'configurations@1,environments@1,graphs@1,lines@1,records@1,sources@1'
        """
        return self.at(self.version)

    @property
    def version(self) -> str:
        """Versions of all tables, as `tsql.open(..., at=)` accepts them.

        Examples:
            >>> import tsql
            >>> tsql.sample().version
            'configurations@1,environments@1,graphs@1,lines@1,records@1,sources@1'
        """
        return self._native.version()

    def history(self) -> list[Version]:
        """Returns the versions of all tables, the newest first.

        Returns:
            Versions of all tables.

        Examples:
            >>> import tsql
            >>> [entry.version for entry in tsql.sample().history() if entry.table == "records"]
            [1, 0]
        """
        return decoded_list(_history_reports.Version, self._native.history())

    def diff(self, after: Store) -> Diff:
        """Counts added and removed rows between this state and another state of the same store.

        Args:
            after: The other state.

        Returns:
            Numbers of rows, and files.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> [count.added for count in store.diff(store).counts if count.kind == "records"]
            [0]
        """
        return decoded(_history_reports.Diff, self._native.diff(after._native))

    @property
    def data_bytes(self) -> int:
        """Size of the data files in bytes.

        Examples:
            >>> import tsql
            >>> 0 < tsql.sample().data_bytes < 1_000_000
            True
        """
        return self._native.data_bytes()


def _reopened(
    location: str, at: str | None, memory_limit: Size | None, threads: int | None, workers: str | None
) -> Store:
    return open(location, at=at, memory_limit=memory_limit, threads=threads, workers=workers)


def _path(location: Path) -> str:
    if not isinstance(location, (str, PathLike)):
        kind = type(location).__name__
        hint = "hint: a folder, or s3://BUCKET/PATH"
        raise ArgumentError(f"`{kind}` is not the location of a store\n{hint}", name="location")
    if not fspath(location):
        raise ArgumentError("the location of a store is empty\nhint: a folder, or s3://BUCKET/PATH", name="location")
    return fspath(location)
