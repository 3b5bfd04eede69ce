"""Stores: what they are asked, what they take, and how they are kept."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path as FilePath
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native
from ._features import Features
from ._finding import Finding
from ._measuring import Measuring
from ._parsed import later, pairs, parsed, parsed_list
from ._plot import Kind, Plot
from ._questions import Questions
from ._result import Result, is_table, size_bytes
from ._scores import Scoring
from ._splits import Splits
from ._training import TrainingGraphs, TrainingRows
from ._training_files import TrainingFiles
from ._ui import Ui
from ._upkeep import Upkeep
from ._writing import Writing
from .errors import ArgumentError, NotAStore

if TYPE_CHECKING:
    from . import _findings, _reports
    from ._findings import Diff
    from ._reports import Version
else:
    _findings = later("_findings")
    _reports = later("_reports")

Path = str | PathLike[str]

Size = int | str
"""Bytes, or a text like `"500MB"` or `"2GiB"`."""


def open(
    location: Path | None = None,
    *,
    at: str | None = None,
    memory_limit: Size | None = None,
    threads: int | None = None,
    workers: str | None = None,
) -> Store:
    """Opens a store: a folder, `s3://BUCKET/PATH`, or (without a location) the next one in the working directory or above,
    as the command finds it.

    `at` looks at it as it was: a tag (`"v1.0"`), a time (`"2026-11-21T17:00:00Z"`), a version (`"records@12"`), or the
    versions of all tables, as `Store.version` tells them. `memory_limit` is in bytes, or a text like `"2GiB"`: what does not fit
    goes to temporary files; without it a question stops at 70 % of what the process may have. `workers` are machines that help
    (`"host:7700,host:7700"`).

    Raises `tsql.errors.NotAStore` where there is none, `tsql.errors.NoVersion` for an `at` that it does not have.
    """
    place = None if location is None else _place(location)
    if place is not None and "://" not in place and FilePath(place).is_file():
        hint = f"hint: tsql.sample().sql(\"FROM '{place}'\") queries a file, store.ingest({place!r}) takes it in"
        raise NotAStore(f"`{place}` is a file, and a store is a folder\n{hint}", location=place)
    limit = size_bytes(memory_limit)
    return Store(_native.Store(place, at, False, limit, threads, workers), limit, threads, workers)


def create(location: Path, *, memory_limit: Size | None = None, threads: int | None = None) -> Store:
    """Opens the store at a location, or makes it; `"memory:"` makes one that ends with the process.

    >>> import tsql
    >>> tsql.create("memory:").sql("SELECT count(*) FROM records").scalar()
    0
    """
    limit = size_bytes(memory_limit)
    return Store(_native.Store(_place(location), None, True, limit, threads, None), limit, threads, None)


def sample() -> Store:
    """The small store that is built in, for trying things out."""
    return Store(_native.Store("sample:"), None, None, None)


class Store(Writing, Upkeep, Finding, Splits, Scoring, Features, TrainingFiles, Measuring):
    """A store, for any number of threads; see `tsql.open`.

    A process that was forked opens it anew when it asks the first time. A pickled store is its location, what it is
    looked at (`at`) and its limits: never credentials.
    """

    def __init__(
        self, native: _native.Store, memory_limit: int | None, threads: int | None, workers: str | None
    ) -> None:
        self._native = native
        self._limits = (memory_limit, threads, workers)

    @property
    def location(self) -> str:
        """Where it is."""
        return self._native.location

    def __repr__(self) -> str:
        at = f" at {self._native.at}" if self._native.at else ""
        return f"<tsql.Store {self.location}{at}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self.location == "memory:":
            raise ArgumentError("a store in memory ends with its process: it cannot be pickled", name="store")
        return _opened, (self.location, self._native.at, *self._limits)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of it; answers that are being read go on."""
        self._native.close()

    # Asking

    def sql(
        self,
        sql: str,
        params: Mapping[str, Any] | Iterable[Any] | None = None,
        tables: Mapping[str, Any] | None = None,
        *,
        variables: bool = True,
        view_types: bool = True,
    ) -> Result:
        """Plans a question; it is answered when somebody reads the result.

        - `params` are the values of `$NAME` by name, or those of `?` (or `$1`, `$2`) by position: numbers, texts, bytes, dates,
          times, and lists of these, which may be arrays of NumPy or series of pandas and polars.
        - `tables` are tables for this question alone: frames of polars and pandas, tables of pyarrow, relations of DuckDB,
          other results, anything that exports Arrow. The store's own names are taken.
        - With `variables`, a name that is neither the store's nor in `tables` may be a variable of the caller (of the
          calling function, then of its module) that is such a table. Like all names of SQL, those of tables match in any case.
        - A file is a table, too: `FROM 'predictions.parquet'`.
        - Without `view_types` texts are no views, which some readers of Arrow do not know yet.

        >>> import tsql
        >>> store = tsql.sample()
        >>> store.sql("SELECT count(*) FROM records WHERE platform = $p", {"p": "epyc-1t"}).scalar()
        240

        Each call has a session of its own, so views and settings are for the text that makes them:
        `"CREATE VIEW v AS SELECT ...; SELECT ... FROM v"`. A text that ends with such a statement is refused.

        Raises `tsql.errors.SqlError` with the place of what is wrong, `tsql.errors.UnknownName` and
        `tsql.errors.ArgumentError` for parameters and tables that do not fit.
        """
        given = dict(tables or {})
        own = sys.modules["tsql"].tables() if given else {}
        for name in given:
            if name in own:
                raise ArgumentError(f"`{name}` is a table of the store: give yours another name", name="tables")
        sql, values = _values(sql, params)
        if (effect := _native.ends_with_session(sql)) is not None:
            hint = "hint: one call takes several statements, and the last one is the query: \"CREATE VIEW v AS ...; SELECT ... FROM v\""
            raise ArgumentError(f"{effect} ends with the call, so nothing would be left of it\n{hint}", name="sql")
        named = _native.other_tables(sql)
        scopes: list[Mapping[str, Any]] = [given]
        if variables:
            caller = sys._getframe(1)
            scopes += [caller.f_locals, caller.f_globals]
        found = _variables(named, scopes)
        found |= {name: table for name, table in given.items() if not any(table is other for other in found.values())}
        return Result(self._native.sql(sql, values, found, view_types))

    def plot(self, sql: str, kind: Kind | None = None, **given: Any) -> Plot:
        """Draws the answer to a question: see `Result.plot`, which takes the rest.

        >>> import tsql
        >>> tsql.sample().plot("SELECT op, count(*) AS count FROM tasks GROUP BY op", "bar")
        <tsql.Plot: bar>
        """
        return self.sql(sql, variables=False).plot(kind, **given)

    def page(self, path: Path, name: str | None = None) -> None:
        """Writes a page that shows the store into a file: what is in it, how good it is, pictures, tables and graphs."""
        html = self._native.page(name or fspath(self.location))
        _native.write_file(str(FilePath(fspath(path))), html.encode())

    def ui(self, port: int = 0, *, name: str | None = None, files: bool = False) -> Ui:
        """Serves a page for this machine on which the store is asked, while the program goes on: see `Ui`.

        It lets in who has its address, and only reads; with `files` questions may read files, too (`FROM 'x.csv'`).
        Port 0 takes a free one.
        """
        return Ui(self._native.ui(port, name or fspath(self.location), files))

    @property
    def questions(self) -> Questions:
        """The ready-made questions: `store.questions.platform_summary()`."""
        return Questions(self._native)

    def at(self, at: str) -> Store:
        """The same store as it was: see `tsql.open`."""
        return _opened(self.location, at, *self._limits)

    def pin(self) -> Store:
        """The same store as it is now, whatever others commit."""
        return self.at(self.version)

    @property
    def version(self) -> str:
        """The versions of its tables: `"graphs@3,records@12"`. `tsql.open(..., at=version)` looks at them."""
        return self._native.version()

    def history(self) -> list[Version]:
        """All versions of all tables, the newest first."""
        return parsed_list(_reports.Version, self._native.history())

    def diff(self, after: Store) -> Diff:
        """What differs between the version that this is and another one of the same store."""
        return parsed(_findings.Diff, self._native.diff(after._native))

    @property
    def data_bytes(self) -> int:
        """Size of its data files in bytes."""
        return self._native.data_bytes()

    # Training

    def training_rows(
        self,
        sql: str,
        params: Mapping[str, str] | None = None,
        *,
        batch_rows: int = 1024,
        group: str | None = None,
        balance: str | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
        pad: bool = True,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 8,
        threads: int = 2,
    ) -> TrainingRows:
        """A loader of the rows of a query, in shuffled batches that can be resumed anywhere.

            rows = store.training_rows(
                "SELECT records.graph_id, schedule_numbers(steps) AS x, runtime_ns AS y FROM records JOIN configurations USING (config_id) WHERE ok",
                batch_rows=4096, group="graph_id", seed=7,
            )
            for batch in rows:
                x = batch.numpy()["x"]          # (rows, 113), float32

        The rows are written once into the user's cache folder and found there by the next process. With a `group`
        column, its rows stay together and `batch.group_sizes` tells how many each has. The values of a `balance` column take
        turns: each comes as often as any other, whatever the number of its rows. `part_of_split` in the query
        keeps a task, or whatever is not to leak, in one part.

        Of `world` processes each takes its `rank`: together they get the batches that one would get. Where these are no multiple
        of `world`, the first ones of the epoch are repeated at its end, so that every rank has equally many, as synchronous
        training needs; `batch.is_padding` marks them. With `pad=False` each batch comes exactly once, as an evaluation needs, and
        the last ranks may have one less. `drop_last` leaves out a last batch of fewer rows, and those that not every rank would
        get one of.
        """
        recipe = {
            "sql": sql,
            "params": pairs(params),
            "batch_rows": batch_rows,
            "group": group,
            "balance": balance,
            "shuffle": shuffle,
            "seed": seed,
            "drop_last": drop_last,
            "pad": pad,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingRows(self, recipe)
        loader._tell_padding()
        return loader

    def training_graphs(
        self,
        names: str | Iterable[str],
        *,
        k: int = 128,
        pick: str = "random",
        unique: bool = False,
        seed: int = 0,
        codes_only: bool = False,
        split: str | None = None,
        balance: str | None = None,
        shuffle: bool = True,
        drop_last: bool = False,
        pad: bool = True,
        rank: int = 0,
        world: int = 1,
        prefetch: int = 4,
        threads: int = 2,
    ) -> TrainingGraphs:
        """A loader of graphs of TpuGraphs, each with `k` of its configurations, each file once an epoch.

        `names` are collections (`"layout:xla:random"`), files (`"layout:xla:random:resnet50"`), or the last parts of
        these. `pick` is one of `random`, `best`, `worst`, `baseline`, `gumbel` (as upstream trains), `close`
        (neighbours by runtime) and `all`; with `unique`, configurations that were measured again count once. With `balance`, SQL
        over `sources`, files of one value are a family, and families take turns: each comes as often as any other. `rank`,
        `world`, `pad` and `drop_last` are those of `training_rows`.
        """
        recipe = {
            "names": [names] if isinstance(names, str) else list(names),
            "k": k,
            "pick": pick,
            "unique": unique,
            "seed": seed,
            "codes_only": codes_only,
            "split": split,
            "balance": balance,
            "shuffle": shuffle,
            "drop_last": drop_last,
            "pad": pad,
            "rank": rank,
            "world": world,
            "prefetch": prefetch,
            "threads": threads,
        }
        loader = TrainingGraphs(self, recipe)
        loader._tell_padding()
        return loader

    def training_files(self) -> list[str]:
        """Ids of the files of TpuGraphs that it has: `"layout:xla:random:resnet50"`."""
        return [file["id"] for file in json.loads(self._native.training_files())]


def _opened(
    location: str, at: str | None, memory_limit: int | None, threads: int | None, workers: str | None
) -> Store:
    return open(location, at=at, memory_limit=memory_limit, threads=threads, workers=workers)


def _place(location: Path) -> str:
    if not isinstance(location, (str, PathLike)):
        kind = type(location).__name__
        raise ArgumentError(f"a `{kind}` is no place of a store\nhint: a folder, or s3://BUCKET/PATH", name="location")
    return fspath(location)


def _values(sql: str, params: Mapping[str, Any] | Iterable[Any] | None) -> tuple[str, dict[str, Any]]:
    """The text and the values of its parameters, which have names: those by position have numbers."""
    if params is None:
        return sql, {}
    if isinstance(params, Mapping):
        return sql, {str(name): value for name, value in params.items()}
    if isinstance(params, (str, bytes)) or not isinstance(params, Iterable):
        kind = type(params).__name__
        raise ArgumentError(f"a `{kind}` is no list of parameters\nhint: [value], or {{\"name\": value}}", name="params")
    values = list(params)
    return _native.numbered(sql, len(values)), {str(number): value for number, value in enumerate(values, 1)}


def _variables(named: Iterable[str], scopes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Tables of the scopes by the names that a query has for them: as they are, or in another case."""
    found = {}
    for name in named:
        for scope in scopes:
            alike = [scope[name]] if name in scope else [value for other, value in scope.items() if other.lower() == name]
            tables = [value for value in alike if is_table(value)]
            if len(tables) > 1 and any(table is not tables[0] for table in tables):
                hint = "hint: rename one, or write the name in double quotes, which match its case"
                raise ArgumentError(f"several variables are called `{name}` but for their case\n{hint}", name="tables")
            if tables:
                found[name] = tables[0]
                break
    return found
