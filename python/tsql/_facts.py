"""What there is in every store: tables, columns, functions of SQL."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any

from . import _native
from ._parsed import later

if TYPE_CHECKING:
    from . import _findings, _reports
    from ._findings import Probe, WorkerStatus
    from ._reports import Verified
else:
    _findings = later("_findings")
    _reports = later("_reports")


@dataclass(frozen=True)
class Column:
    """A column of a table, a view or an answer."""

    name: str
    type: str
    unit: str | None
    is_nullable: bool
    doc: str


@dataclass(frozen=True)
class Table:
    """A table or a view of a store, with its columns."""

    name: str
    doc: str
    is_view: bool
    columns: tuple[Column, ...]


@dataclass(frozen=True)
class Elements:
    """Names of the elements of the list that a feature gives, for a value of the argument that decides about it (`of`)."""

    of: str
    names: tuple[str, ...]


@dataclass(frozen=True)
class Function:
    """A function of SQL: how it is called, what it gives, and a query that tries it."""

    name: str
    aliases: tuple[str, ...]
    call: str
    kind: str
    is_ours: bool
    doc: str
    arguments: tuple[tuple[str, str], ...]
    example: str
    elements: tuple[Elements, ...]


def columns_of(text: str) -> tuple[Column, ...]:
    """Columns from what the library tells of them."""
    return tuple(Column(**column) for column in json.loads(text))


def tables() -> dict[str, Table]:
    """All tables and views that a store has, by name.

    >>> import tsql
    >>> tsql.tables()["records"].columns[0].name
    'dataset'
    """
    told = json.loads(_native.tables())
    made = (
        Table(**{**table, "columns": tuple(Column(**column) for column in table["columns"])})
        for table in told
    )
    return {table.name: table for table in made}


def functions(name: str | None = None) -> dict[str, Function]:
    """The functions of SQL by name, tsql's own first; with a name only that one.

    >>> import tsql
    >>> tsql.functions("median_ci")["median_ci"].kind
    'scalar'

    Raises `tsql.errors.UnknownName` for a name that no function has.
    """
    told: list[dict[str, Any]]
    told = json.loads(_native.functions()) if name is None else [json.loads(_native.describe(name))]
    made = (
        Function(
            **{
                **function,
                "aliases": tuple(function["aliases"]),
                "arguments": tuple((one, of) for one, of in function["arguments"]),
                "elements": tuple(Elements(one["of"], tuple(one["names"])) for one in function["elements"]),
            }
        )
        for function in told
    )
    return {function.name: function for function in made}


def verify(at: str | PathLike[str]) -> Verified:
    """Compares a publication (a folder, a bucket, a web server) with its checksums."""
    return _reports.Verified(**json.loads(_native.verify(fspath(at))))


def probe(location: str | PathLike[str]) -> list[Probe] | None:
    """Tries what commits need of a bucket, which not every server that speaks S3 keeps to; nothing is left there. `None` for
    a local disk, which has it."""
    told = json.loads(_native.probe(fspath(location)))
    return None if told is None else [Probe(**one) for one in told]


def workers(addresses: str) -> list[WorkerStatus]:
    """What each worker of `"host:7700,host:7701"` says of itself, or why it does not answer."""
    names = ("version", "running", "taken", "failed", "memory_bytes", "memory_limit_bytes", "stopping")
    made = []
    for url, status, error in json.loads(_native.workers(addresses)):
        known = status or {}
        stores = [one["location"] for one in known.get("stores", [])]
        made.append(_findings.WorkerStatus(url=url, stores=stores, error=error, **{name: known.get(name) for name in names}))
    return made
