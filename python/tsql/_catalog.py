"""Tables, columns and SQL functions of every store, and calls that need no store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._decode import decoded, decoded_list, from_json, lazy_module
from ._deprecated import earlier_attributes

if TYPE_CHECKING:
    from . import _measure_reports, _store_reports
    from ._measure_reports import Probe, WorkerStatus
    from ._store_reports import Verified
else:
    _measure_reports = lazy_module("_measure_reports")
    _store_reports = lazy_module("_store_reports")


@dataclass(frozen=True)
class Column:
    """A column of a table, a view or a result.

    Attributes:
        name: Name of the column.
        type: Data type, as Arrow names it.
        unit: Unit of the values, such as `ns`; `None` for values without a unit.
        is_nullable: Whether the column can have NULLs.
        doc: Description; empty for computed columns.

    Examples:
        >>> import tsql
        >>> column = tsql.sample().sql("SELECT runtime_ns FROM records").columns[0]
        >>> column.name, column.type, column.unit
        ('runtime_ns', 'Float64', 'ns')
    """

    name: str
    type: str
    unit: str | None
    is_nullable: bool
    doc: str


@dataclass(frozen=True)
class Table:
    """A table or a view of a store.

    Attributes:
        name: Name of the table in SQL.
        doc: Description.
        is_view: Whether the table is computed from other tables.
        columns: Columns of the table.
    """

    name: str
    doc: str
    is_view: bool
    columns: tuple[Column, ...]


@earlier_attributes(of="argument_value")
@dataclass(frozen=True)
class Elements:
    """Names of the elements of a list that a feature function returns.

    Attributes:
        argument_value: Argument for which the names apply, such as `llvm`; empty if the names always apply.
        names: One name for each element, in order.

    Examples:
        >>> import tsql
        >>> elements = tsql.functions("op_histogram")["op_histogram"].elements[0]
        >>> len(elements.names), elements.names[26]
        (121, 'convolution')
    """

    argument_value: str
    names: tuple[str, ...]


@earlier_attributes(is_ours="is_tsql")
@dataclass(frozen=True)
class Function:
    """An SQL function.

    Attributes:
        name: Name of the function.
        aliases: Other names of the function.
        call: Syntax: `name(one, two[, three])`.
        kind: `scalar`, `aggregate` or `window`.
        is_tsql: Whether the function is one of tsql. The others are DataFusion's.
        doc: Description and source.
        arguments: Name and description of each argument.
        example: Query that every store can run; empty for some functions of DataFusion.
        elements: Element names of the list that a feature function returns.
    """

    name: str
    aliases: tuple[str, ...]
    call: str
    kind: str
    is_tsql: bool
    doc: str
    arguments: tuple[tuple[str, str], ...]
    example: str
    elements: tuple[Elements, ...]


def columns_from_json(text: str) -> tuple[Column, ...]:
    """Returns the columns of a JSON array."""
    return tuple(decoded_list(Column, text))


def tables() -> dict[str, Table]:
    """Returns all tables and views that a store has.

    Returns:
        Tables and views by name: the important ones first, then in the order of their names.

    Examples:
        >>> import tsql
        >>> tsql.tables()["records"].columns[0].name
        'dataset'
        >>> list(tsql.tables())[:3]
        ['records', 'graphs', 'configurations']
    """
    return {table.name: table for table in decoded_list(Table, _native.tables())}


def functions(name: str | None = None) -> dict[str, Function]:
    """Returns the SQL functions, tsql's own first.

    Args:
        name: Name of one function; without it, the result has all functions.

    Returns:
        Functions by name.

    Raises:
        tsql.errors.UnknownName: If no function has this name.

    Examples:
        >>> import tsql
        >>> tsql.functions("median_ci")["median_ci"].kind
        'scalar'
        >>> next(iter(tsql.functions().values())).is_tsql
        True
    """
    if name is None:
        return {function.name: function for function in decoded_list(Function, _native.functions())}
    function = decoded(Function, _native.describe(name))
    return {function.name: function}


def verify(at: str | PathLike[str]) -> Verified:
    """Compares a publication with its checksums.

    Args:
        at: Folder, bucket or web server of the publication. Files on a web server cannot be listed, so additional
            files are not found there.

    Returns:
        Missing, changed and additional files.

    Raises:
        tsql.errors.InputError: If there is no publication, or its publishing was interrupted.

    Examples:
        >>> import tempfile, tsql
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     published = tsql.sample().publish(f"{folder}/published", title="Sample")
        ...     verified = tsql.verify(f"{folder}/published")
        >>> verified.is_whole, verified.missing
        (True, [])
    """
    return decoded(_store_reports.Verified, _native.verify(fspath(at)))


def probe(location: str | PathLike[str]) -> list[Probe] | None:
    """Checks whether a bucket has what commits need. Some servers that speak S3 do not.

    The checks write objects below the location and delete them.

    Args:
        location: Location in a bucket, such as `s3://BUCKET/PATH`.

    Returns:
        One result for each check; `None` for a local folder, which needs no checks.

    Examples:
        >>> import tsql
        >>> tsql.probe("/tmp") is None
        True
    """
    results: list[dict[str, Any]] | None = json.loads(_native.probe(fspath(location)))
    return None if results is None else [from_json(_measure_reports.Probe, result) for result in results]


def workers(addresses: str) -> list[WorkerStatus]:
    """Returns the status of each worker.

    Args:
        addresses: Addresses of workers, such as `host:7700,host:7701`.

    Returns:
        Status of each worker, or the error if it does not respond.

    Examples:
        >>> import tsql
        >>> [worker] = tsql.workers("localhost:1")
        >>> worker.url, worker.error is not None
        ('http://localhost:1/', True)
    """
    names = ("version", "running", "started", "failed", "memory_bytes", "memory_limit_bytes", "stopping")
    found: list[_measure_reports.WorkerStatus] = []
    for url, status, error in json.loads(_native.workers(addresses)):
        known: dict[str, Any] = status or {}
        stores = [store["location"] for store in known.get("stores", [])]
        value = {"url": url, "stores": stores, "error": error, **{name: known.get(name) for name in names}}
        found.append(from_json(_measure_reports.WorkerStatus, value))
    return found
