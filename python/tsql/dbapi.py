"""DB-API 2.0 (PEP 249): connections and cursors, for programs that expect them.

A connection reads a store. SQL cannot change a store, so `commit` does nothing, and `rollback` is not supported.

    >>> import tsql
    >>> with tsql.connect("sample:") as connection:
    ...     cursor = connection.cursor()
    ...     row = cursor.execute("SELECT count(*) FROM records WHERE platform = ?", ["epyc-1t"]).fetchone()
    >>> row
    (240,)

Globals of the PEP:

- `apilevel` is `"2.0"`.
- `threadsafety` is 2: threads may share a connection. Each thread needs its own cursor.
- `paramstyle` is `"qmark"`: values for `?`. A mapping gives values for `$NAME`.
- `STRING`, `BINARY`, `NUMBER`, `DATETIME` and `ROWID` equal the type codes of `Cursor.description`, which are names of
  Arrow types.
- `Date`, `Time`, `Timestamp`, `DateFromTicks`, `TimeFromTicks`, `TimestampFromTicks` and `Binary` create parameters.
- Exceptions are subclasses of `tsql.Error`, too. They keep its attributes and the hints of its message.
"""

from __future__ import annotations

import datetime
import threading
import time
import weakref
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING

from . import _dbapi_errors, _store, errors
from ._cursor import Cursor
from ._dbapi_errors import (
    DatabaseError,
    DataError,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
    Warning,
    converted_errors,
)
from ._dbapi_types import BINARY, DATETIME, NUMBER, ROWID, STRING, TypeObject

if TYPE_CHECKING:
    from ._store import Size, Store

__all__ = [
    "BINARY",
    "Binary",
    "Connection",
    "Cursor",
    "DATETIME",
    "DataError",
    "DatabaseError",
    "Date",
    "DateFromTicks",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "NUMBER",
    "NotSupportedError",
    "OperationalError",
    "ProgrammingError",
    "ROWID",
    "STRING",
    "Time",
    "TimeFromTicks",
    "Timestamp",
    "TimestampFromTicks",
    "TypeObject",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]

apilevel = "2.0"
threadsafety = 2
paramstyle = "qmark"

Date = datetime.date
Time = datetime.time
Timestamp = datetime.datetime
Binary = bytes


def DateFromTicks(ticks: float) -> datetime.date:
    """Returns the local date of a time in seconds since 1970.

    Args:
        ticks: Seconds since 1970.

    Returns:
        The date.
    """
    return datetime.date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> datetime.time:
    """Returns the local time of day of a time in seconds since 1970.

    Args:
        ticks: Seconds since 1970.

    Returns:
        The time of day.
    """
    return datetime.time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime.datetime:
    """Returns the local date and time of a time in seconds since 1970.

    Args:
        ticks: Seconds since 1970.

    Returns:
        The date and time, to the second.
    """
    return datetime.datetime(*time.localtime(ticks)[:6])


def connect(
    store: Store | str | PathLike[str] | None = None,
    *,
    at: str | None = None,
    memory_limit: Size | None = None,
    threads: int | None = None,
    workers: str | None = None,
) -> Connection:
    """Connects to a store, as DB-API 2.0 (PEP 249) defines it. No store is created.

    Args:
        store: Folder, `s3://BUCKET/PATH`, `"sample:"`, or an open store, which the connection does not close. Without
            it, the nearest store in the working directory or above.
        at: State to open, as for `tsql.open`.
        memory_limit: Memory of a query, as for `tsql.open`.
        threads: Number of threads; the default is one per core.
        workers: Addresses of machines that run parts of queries, as for `tsql.open`.

    Returns:
        The connection, for use in a `with` block.

    Raises:
        tsql.dbapi.OperationalError: If there is no store, or it does not have the state `at`.
        tsql.dbapi.ProgrammingError: If an open store and options are given.

    Examples:
        >>> import tsql
        >>> connection = tsql.connect(store="sample:")
        >>> cursor = connection.cursor()
        >>> cursor.execute("SELECT platform, count(*) AS n FROM records GROUP BY 1 ORDER BY 1").fetchall()
        [('epyc-1t', 240), ('epyc-2t', 240)]
        >>> connection.close()
    """
    with converted_errors():
        if not isinstance(store, _store.Store):
            opened = _store.open(store, at=at, memory_limit=memory_limit, threads=threads, workers=workers)
            return Connection(opened, is_owner=True)
        options = {"at": at, "memory_limit": memory_limit, "threads": threads, "workers": workers}
        given = [name for name, value in options.items() if value is not None]
        if given:
            reason = f"`{given[0]}` is an option of opening a store, but the store is open"
            hint = f"hint: tsql.connect({store.location!r}, {given[0]}=...)"
            raise errors.ArgumentError(f"{reason}\n{hint}", name=given[0])
        return Connection(store, is_owner=False)


class Connection:
    """A connection to a store. `tsql.connect` returns it.

    Threads may share a connection. A `with` block closes it. Exceptions are also attributes: `connection.Error`.

    Attributes:
        store: The store, with all methods of `tsql.Store`.
    """

    Warning = _dbapi_errors.Warning
    Error = _dbapi_errors.Error
    InterfaceError = _dbapi_errors.InterfaceError
    DatabaseError = _dbapi_errors.DatabaseError
    DataError = _dbapi_errors.DataError
    OperationalError = _dbapi_errors.OperationalError
    IntegrityError = _dbapi_errors.IntegrityError
    InternalError = _dbapi_errors.InternalError
    ProgrammingError = _dbapi_errors.ProgrammingError
    NotSupportedError = _dbapi_errors.NotSupportedError

    def __init__(self, store: Store, is_owner: bool) -> None:
        self.store = store
        self._is_owner = is_owner
        self._is_closed = False
        self._cursors: weakref.WeakSet[Cursor] = weakref.WeakSet()
        self._lock = threading.Lock()

    def cursor(self) -> Cursor:
        """Returns a new cursor.

        Returns:
            The cursor.

        Raises:
            tsql.dbapi.InterfaceError: If the connection is closed.
        """
        cursor = Cursor(self)
        with self._lock:
            self._check_open()
            self._cursors.add(cursor)
        return cursor

    def commit(self) -> None:
        """Does nothing, because SQL cannot change a store.

        Raises:
            tsql.dbapi.InterfaceError: If the connection is closed.
        """
        self._check_open()

    def rollback(self) -> None:
        """Raises `tsql.dbapi.NotSupportedError`, because a store has no transactions."""
        self._check_open()
        reason = "a store has no transactions, so nothing can be rolled back"
        hint = "hint: `tsql.connect(..., at=...)` reads an earlier state"
        raise NotSupportedError(f"{reason}\n{hint}", kind="unsupported")

    def close(self) -> None:
        """Closes the connection and its cursors, and cancels queries that are being read."""
        with self._lock:
            self._is_closed = True
            cursors = list(self._cursors)
        for cursor in cursors:
            cursor.close()
        if self._is_owner:
            self.store.close()

    def _check_open(self) -> None:
        if self._is_closed:
            hint = "hint: `tsql.connect(...)` opens another one"
            raise InterfaceError(f"this connection was closed\n{hint}", kind="closed")

    def __enter__(self) -> Connection:
        self._check_open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<tsql.dbapi.Connection {self.store.location}{' (closed)' if self._is_closed else ''}>"
