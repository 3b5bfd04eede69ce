"""Exceptions of DB-API 2.0, which `tsql.dbapi` exports."""

from __future__ import annotations

from types import TracebackType

from . import errors


class Warning(Exception):
    """Class of warnings of the PEP. tsql never raises it."""


class Error(errors.Error):
    """Base class of the errors of this module."""


class InterfaceError(Error):
    """A connection or a cursor is closed, or has no result."""


class DatabaseError(Error):
    """A query failed while it ran, or the store is damaged. It is the base class of the errors below."""


class DataError(DatabaseError):
    """A file that a query reads was rejected."""


class OperationalError(DatabaseError):
    """There is no store or no such version, or a disk, a bucket or a server failed."""


class IntegrityError(DatabaseError):
    """Class of the PEP for violated references. tsql never raises it."""


class InternalError(DatabaseError):
    """A defect of tsql."""


class ProgrammingError(DatabaseError):
    """The SQL text is invalid, a name is unknown, or parameters are missing, additional or of another type.

    Attributes:
        line: Line of the error in the SQL text, from 1; `None` if it is unknown.
        column: Column of the error, from 1; `None` if it is unknown.
    """

    line: int | None = None
    column: int | None = None


class NotSupportedError(DatabaseError):
    """The store cannot do this: it is read-only, and has no transactions."""


for _class in (Warning, Error, *Error.__subclasses__(), *DatabaseError.__subclasses__()):
    _class.__module__ = "tsql.dbapi"

_CLASSES: dict[type[errors.Error], type[Error]] = {
    errors.NotAStore: OperationalError,
    errors.CannotCreate: OperationalError,
    errors.UnknownName: ProgrammingError,
    errors.ArgumentError: ProgrammingError,
    errors.SqlError: ProgrammingError,
    errors.NoVersion: OperationalError,
    errors.ReadOnlyError: NotSupportedError,
    errors.EmptyError: DatabaseError,
    errors.ConflictError: OperationalError,
    errors.ClosedError: InterfaceError,
    errors.InputError: DataError,
    errors.Damaged: DatabaseError,
    errors.StorageError: OperationalError,
    errors.MeasuringError: DatabaseError,
    errors.UnsupportedError: NotSupportedError,
}


class converted_errors:
    """Raises the errors of tsql in its block as errors of this module.

    Args:
        is_running: Whether a query runs in the block. A planned query that fails is not an error of its text.
    """

    def __init__(self, is_running: bool = False) -> None:
        self._is_running = is_running

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not isinstance(error, errors.Error) or isinstance(error, Error):
            return
        found = _CLASSES.get(type(error), InternalError if error.kind == "internal" else DatabaseError)
        if self._is_running and found is ProgrammingError:
            found = DatabaseError
        converted = found(error.message)
        converted.__dict__.update(error.__dict__)
        raise converted from None
