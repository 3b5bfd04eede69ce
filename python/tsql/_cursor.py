"""Cursors of DB-API 2.0."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _native, errors
from ._dbapi_errors import InterfaceError, ProgrammingError, converted_errors
from ._dbapi_types import bound_parameters
from ._parameters import named_parameters
from ._sql_text import statement_count

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

    from ._batch import Batch
    from ._result import Result
    from .dbapi import Connection

Parameters = Mapping[str, Any] | Iterable[Any]


class Cursor:
    """A cursor, which runs queries and reads their rows. `Connection.cursor` returns it.

    Rows are read in batches while the query runs, so `fetchone` and loops need bounded memory. Each query reads the
    newest state of the store, unless the connection has a state `at`. A `with` block closes the cursor.

    Attributes:
        connection: Connection of the cursor.
        arraysize: Number of rows that `fetchmany` returns by default.
        rowcount: Always -1: the number of rows is unknown before they are read.
        lastrowid: Always `None`.
        rownumber: Number of rows that were read; `None` without a result.
        description: Columns of the result: name, type code, four times `None`, and whether NULL is possible. `None`
            without a result.

    Examples:
        >>> import tsql
        >>> cursor = tsql.connect("sample:").cursor()
        >>> _ = cursor.execute("SELECT platform, runtime_ns FROM records WHERE line = $line", {"line": 3})
        >>> [(name, code) for name, code, *_ in cursor.description]
        [('platform', 'text'), ('runtime_ns', 'Float64')]
        >>> cursor.description[1][1] == tsql.dbapi.NUMBER
        True
        >>> len(cursor.fetchall())
        10
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.arraysize = 1
        self.rowcount = -1
        self.lastrowid: int | None = None
        self.rownumber: int | None = None
        self.description: list[tuple[str, str, None, None, None, None, bool]] | None = None
        self._is_closed = False
        self._result: Result | None = None
        self._batches: Iterator[Batch] | None = None
        self._batch: Batch | None = None
        self._rows: list[tuple[Any, ...]] = []
        self._at = 0

    def execute(self, operation: str, parameters: Parameters | None = None) -> Cursor:
        """Runs a query until its first rows are computed.

        Args:
            operation: One SQL statement.
            parameters: Values of `?` and `$1` by position, or of `$NAME` by name.

        Returns:
            The cursor.

        Raises:
            tsql.dbapi.ProgrammingError: If the statement or a parameter is invalid, or there are several statements.
            tsql.dbapi.NotSupportedError: If the statement creates a view or changes a setting.
            tsql.dbapi.DatabaseError: If the query fails while it runs.
            tsql.dbapi.InterfaceError: If the cursor is closed.
        """
        self._check_open()
        self._reset()
        with converted_errors():
            if not isinstance(operation, str):
                kind = type(operation).__name__
                raise errors.ArgumentError(f"`{kind}` is not SQL, expected a text", name="operation")
            if (count := statement_count(operation)) > 1:
                hint = 'hint: call `execute` for each; `store.sql("CREATE VIEW v AS ...; SELECT ...")` accepts several'
                raise errors.ArgumentError(f"{count} statements, expected one\n{hint}", name="operation")
            sql, values = named_parameters(operation, bound_parameters(parameters))
            if (effect := _native.ends_with_session(sql)) is not None:
                hint = "hint: `WITH v AS (...) SELECT ...` names a query; `store.sql` accepts several statements"
                reason = f"{effect} ends with the call, so it has no effect"
                raise errors.UnsupportedError(f"{reason}\n{hint}", kind="unsupported")
            result = self.connection.store.sql(sql, values, variables=False)
        with converted_errors(is_running=True):
            result.head(0)
        self.description = [
            (column.name, column.type, None, None, None, None, column.is_nullable) for column in result.columns
        ]
        self._result, self.rownumber = result, 0
        return self

    def executemany(self, operation: str, seq_of_parameters: Iterable[Parameters]) -> Cursor:
        """Runs a query for each of several sets of parameters, and drops the rows: afterwards there is no result.

        Args:
            operation: One SQL statement.
            seq_of_parameters: Parameters of each run.

        Returns:
            The cursor.

        Raises:
            tsql.dbapi.ProgrammingError: If the statement or a parameter is invalid.
            tsql.dbapi.DatabaseError: If a query fails while it runs.
            tsql.dbapi.InterfaceError: If the cursor is closed.
        """
        self._check_open()
        self._reset()
        try:
            for parameters in seq_of_parameters:
                self.execute(operation, parameters)
                while self._load():
                    pass
        finally:
            self._reset()
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row.

        Returns:
            The row; `None` after the last row.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs. There is no result then.
        """
        rows = self._take(1)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None) -> list[tuple[Any, ...]]:
        """Returns the next rows.

        Args:
            size: Maximum number of rows; the default is `arraysize`.

        Returns:
            The rows; empty after the last row.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs. There is no result then.
        """
        return self._take(self.arraysize if size is None else size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns the remaining rows.

        Returns:
            The rows; empty after the last row.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs. There is no result then.
        """
        return self._take(None)

    def fetch_record_batch(self) -> pyarrow.RecordBatchReader:
        """Returns a reader of the remaining rows as Arrow batches. Needs pyarrow.

        Returns:
            The reader. The cursor has no further rows.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
        """
        import pyarrow

        result = self._current()
        schema, batches = pyarrow.schema(result), self._remaining_batches(result)
        self._batches, self._batch, self._rows, self._at = iter(()), None, [], 0
        return pyarrow.RecordBatchReader.from_batches(schema, batches)

    def fetch_arrow_table(self) -> pyarrow.Table:
        """Returns the remaining rows as an Arrow table. Needs pyarrow.

        Returns:
            The table.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs.
        """
        reader = self.fetch_record_batch()
        try:
            return reader.read_all()
        except BaseException:
            self._reset()
            raise

    def fetch_df(self) -> pandas.DataFrame:
        """Returns the remaining rows as a pandas frame. Needs pandas and pyarrow.

        Returns:
            The frame.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs.
        """
        frame: pandas.DataFrame = self.fetch_arrow_table().to_pandas()
        return frame

    def fetch_polars(self) -> polars.DataFrame:
        """Returns the remaining rows as a polars frame. Needs polars and pyarrow.

        Returns:
            The frame.

        Raises:
            tsql.dbapi.InterfaceError: If there is no result, or the cursor is closed.
            tsql.dbapi.DatabaseError: If the query fails while it runs.
        """
        import polars

        return polars.DataFrame(self.fetch_arrow_table())

    def setinputsizes(self, sizes: Iterable[Any]) -> None:
        """Does nothing: parameters have the types of their values.

        Args:
            sizes: Ignored.
        """
        self._check_open()

    def setoutputsize(self, size: int, column: int | None = None) -> None:
        """Does nothing: long values are never truncated.

        Args:
            size: Ignored.
            column: Ignored.
        """
        self._check_open()

    def close(self) -> None:
        """Closes the cursor, and cancels a query that is being read."""
        self._is_closed = True
        self._reset()

    def _check_open(self) -> None:
        self.connection._check_open()
        if self._is_closed:
            raise InterfaceError("this cursor was closed\nhint: `connection.cursor()` opens another one", kind="closed")

    def _reset(self) -> None:
        """Drops the result. A query that is being read is canceled."""
        self._result = self._batches = self._batch = None
        self._rows, self._at = [], 0
        self.description = self.rownumber = None

    def _current(self) -> Result:
        self._check_open()
        if self._result is None:
            raise InterfaceError("there is no result\nhint: `cursor.execute(...)` runs a query", kind="closed")
        return self._result

    def _load(self) -> bool:
        """Loads the rows of the next batch. Returns whether there are any."""
        result = self._current()
        with converted_errors(is_running=True):
            if self._batches is None:
                self._batches = result.batches()
            self._batch = batch = next(self._batches, None)
        self._rows, self._at = batch.rows() if batch is not None else [], 0
        return batch is not None

    def _take(self, size: int | None) -> list[tuple[Any, ...]]:
        """Returns the next rows: at most `size`, or all."""
        self._current()
        if size is not None and size < 0:
            reason = f"`{size}` is not a number of rows, expected 0 or more"
            raise ProgrammingError(reason, kind="argument", name="size")
        try:
            taken: list[tuple[Any, ...]] = []
            while size is None or len(taken) < size:
                if self._at == len(self._rows) and not self._load():
                    break
                end = None if size is None else self._at + size - len(taken)
                rows = self._rows[self._at : end]
                self._at += len(rows)
                taken += rows
            self.rownumber = (self.rownumber or 0) + len(taken)
            return taken
        except BaseException:
            # After an error or Ctrl-C there is no result, so that some rows do not look like all rows.
            self._reset()
            raise

    def _remaining_batches(self, result: Result) -> Iterator[pyarrow.RecordBatch]:
        """Returns the rows that were not read as Arrow batches."""
        import pyarrow

        source = result.batches() if self._batches is None else self._batches
        first = None if self._batch is None else pyarrow.record_batch(self._batch).slice(self._at)

        def remaining() -> Iterator[pyarrow.RecordBatch]:
            if first is not None:
                yield first
            with converted_errors(is_running=True):
                for batch in source:
                    yield pyarrow.record_batch(batch)

        return remaining()

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return self

    def __next__(self) -> tuple[Any, ...]:
        row = self.fetchone()
        if row is None:
            raise StopIteration
        return row

    def __enter__(self) -> Cursor:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
