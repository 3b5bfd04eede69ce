"""Exceptions: one class for each kind of error, all of them `tsql.Error`.

A message states the error. Lines that begin with `hint:` suggest a way out. Ctrl-C raises `KeyboardInterrupt`.

    >>> import tsql
    >>> try:
    ...     tsql.sample().sql("SELECT runtime FROM records")
    ... except tsql.errors.SqlError as error:
    ...     print(error.line, error.column)
    1 8
"""

from __future__ import annotations

from typing import Any

from ._deprecated import earlier_attributes

__all__ = [
    "ArgumentError",
    "CannotCreate",
    "ClosedError",
    "ConflictError",
    "Damaged",
    "EmptyError",
    "Error",
    "InputError",
    "MeasuringError",
    "NoVersion",
    "NotAStore",
    "ReadOnlyError",
    "SqlError",
    "StorageError",
    "UnknownName",
    "UnsupportedError",
]


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted(__all__)


class Error(Exception):
    """An error of tsql, the base class of the others.

    Attributes:
        kind: Stable name of the error, such as `sql`, `not_a_store` or `io`.
        message: Message with its hints.

    Examples:
        >>> import tsql
        >>> try:
        ...     tsql.open("/nowhere")
        ... except tsql.Error as error:
        ...     print(error.kind)
        not_a_store
    """

    kind: str = "argument"

    def __init__(self, message: str, **about: Any) -> None:
        super().__init__(message)
        self.message = message
        self.__dict__.update(about)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.message, self.__dict__)


def _rebuilt(kind: type[Error], message: str, about: dict[str, Any]) -> Error:
    """Returns a pickled error."""
    error = kind(message)
    error.__dict__.update(about)
    return error


class NotAStore(Error, FileNotFoundError):
    """There is no store, or it belongs to another user.

    Attributes:
        location: Location that was searched.

    Examples:
        >>> import tsql
        >>> try:
        ...     tsql.open("/nowhere")
        ... except FileNotFoundError as error:
        ...     print(error.location)
        /nowhere
    """

    location: str


class CannotCreate(Error):
    """The location has other files, so a store cannot be created there.

    Attributes:
        location: Location of the files.
    """

    location: str


@earlier_attributes(what="name_kind", known="known_names")
class UnknownName(Error, LookupError):
    """There is no table, query, format or parameter of this name.

    Attributes:
        name_kind: Kind of the name.
        name: The unknown name.
        known_names: Known names.

    Examples:
        >>> import tsql
        >>> try:
        ...     tsql.create("memory:").sql("SELECT $platform", {"platfrom": "t4"})
        ... except LookupError as error:
        ...     print(error.name, error.known_names)
        platfrom ['platform']
    """

    name_kind: str
    name: str
    known_names: list[str]


class ArgumentError(Error, ValueError):
    """An argument is invalid.

    Attributes:
        name: Name of the argument.

    Examples:
        >>> import tsql
        >>> try:
        ...     tsql.create("memory:").sql("SELECT 1").batches(0)
        ... except ValueError as error:
        ...     print(error.name)
        batch_rows
    """

    name: str


class SqlError(Error):
    """A query is invalid.

    Attributes:
        line: Line of the error, from 1; `None` if it is unknown.
        column: Column of the error, from 1; `None` if it is unknown.

    Examples:
        >>> import tsql
        >>> try:
        ...     tsql.create("memory:").sql("SELECT line FROM record")
        ... except tsql.errors.SqlError as error:
        ...     print(error.line, error.column)
        1 18
    """

    line: int | None = None
    column: int | None = None


class NoVersion(Error):
    """The store does not have the version, or `vacuum` deleted its files."""


class ReadOnlyError(Error):
    """A store at a version (`at=`) cannot be changed."""


class EmptyError(Error):
    """The store has no rows for the call."""


class ConflictError(Error):
    """Conflicts with other writers lasted too long. Nothing is lost or duplicated; the same call continues."""


class ClosedError(Error):
    """A store or a stream is closed, or a result was read already or is being read by another thread."""


class InputError(Error):
    """A file or a line was rejected.

    Attributes:
        path: Path of the file, if it is known.
        line: Line in the file, if it is known.
        location: Location of a source that cannot be read.
    """

    path: str | None = None
    line: int | None = None
    location: str | None = None


class Damaged(Error):
    """The store is damaged. `store.check()` lists all damage.

    Attributes:
        table: Table with the damage.
    """

    table: str


class StorageError(Error, OSError):
    """A disk, a bucket or a server failed."""

    def __str__(self) -> str:
        return self.message


class MeasuringError(Error):
    """A kernel could not be built, run or timed."""


class UnsupportedError(Error):
    """This build or this machine does not support the call."""


_CLASSES: dict[str, type[Error]] = {
    "not_a_store": NotAStore,
    "no_store": NotAStore,
    "foreign_store": NotAStore,
    "cannot_create": CannotCreate,
    "too_new": UnsupportedError,
    "unknown_name": UnknownName,
    "argument": ArgumentError,
    "ambiguous": ArgumentError,
    "location": ArgumentError,
    "setting": ArgumentError,
    "sql": SqlError,
    "query": SqlError,
    "no_version": NoVersion,
    "read_only": ReadOnlyError,
    "empty": EmptyError,
    "conflict": ConflictError,
    "closed": ClosedError,
    "unsupported": UnsupportedError,
    "measuring": MeasuringError,
    "drawing": UnsupportedError,
    "io": StorageError,
    "rejected_line": InputError,
    "source": InputError,
    "damaged": Damaged,
    "storage": StorageError,
}


def class_of_kind(kind: str) -> type[Error]:
    """Returns the class of a kind of errors; `Error` for an unknown kind."""
    return _CLASSES.get(kind, Error)


def of_library(kind: str, message: str, **about: Any) -> Error:
    """Returns an error of the native module as an exception, with Python calls in place of commands.

    Args:
        kind: Kind of the error.
        message: Message for the command line.
        **about: Attributes of the exception.

    Returns:
        The exception.
    """
    from ._messages import in_python

    return class_of_kind(kind)(in_python(message), kind=kind, **about)
