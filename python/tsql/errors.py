"""Exceptions: one class for each kind of error, all of them `tsql.Error`.

A message says what is wrong and, on a line that begins with `hint:`, what to do about it. Ctrl-C raises
`KeyboardInterrupt`, as everywhere in Python.

    >>> import tsql
    >>> try:
    ...     tsql.sample().sql("SELECT runtime FROM records")
    ... except tsql.errors.SqlError as error:
    ...     print(error.line, error.column)
    1 8
"""

from __future__ import annotations

from typing import Any

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


class Error(Exception):
    """Any error of tsql. `kind` is a word for it that stays the same: `sql`, `not_a_store`, `io`."""

    kind: str = "argument"

    def __init__(self, message: str, **about: Any) -> None:
        super().__init__(message)
        self.message = message
        self.__dict__.update(about)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.message, self.__dict__)


def _again(of: type[Error], message: str, about: dict[str, Any]) -> Error:
    made = of(message)
    made.__dict__.update(about)
    return made


class NotAStore(Error, FileNotFoundError):
    """There is no store at `location`, here or above, or it is somebody else's."""

    location: str


class CannotCreate(Error):
    """No store can be made at `location`: something is there already."""

    location: str


class UnknownName(Error, LookupError):
    """No table, question, format or parameter (`what`) has this `name`; those there are, are `known`."""

    what: str
    name: str
    known: list[str]


class ArgumentError(Error, ValueError):
    """An argument (`name`) that cannot be used."""

    name: str


class SqlError(Error):
    """SQL that is not answered; `line` and `column` say where, from 1, where that is known."""

    line: int | None = None
    column: int | None = None


class NoVersion(Error):
    """The store has no such version, or `vacuum` has taken its files."""


class ReadOnlyError(Error):
    """A store that is looked at as it was (`at=`) cannot be changed."""


class EmptyError(Error):
    """The store has nothing of what the call is about."""


class ConflictError(Error):
    """Other writers were quicker: nothing is lost or doubled, and the same call goes on from there."""


class ClosedError(Error):
    """A store or a stream that was closed, or an answer that was read already or is read by another thread."""


class InputError(Error):
    """A file or line that was refused: `path` and `line`, or `location`."""

    path: str | None = None
    line: int | None = None
    location: str | None = None


class Damaged(Error):
    """The store holds something that it should not: `store.check()` lists all damage."""

    table: str


class StorageError(Error, OSError):
    """A disk, a bucket or a server failed."""

    def __str__(self) -> str:
        return self.message


class MeasuringError(Error):
    """A kernel could not be built, run or timed."""


class UnsupportedError(Error):
    """This build, or this machine, cannot do it."""


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


def of_kind(kind: str) -> type[Error]:
    """The class of a kind that the library tells: one of its own, so that `kind` is right in each."""
    return _CLASSES.get(kind, Error)


def of_library(kind: str, message: str, **about: Any) -> Error:
    """An error of the library, with calls of Python in the place of commands."""
    from ._wording import in_python

    return of_kind(kind)(in_python(message), kind=kind, **about)
