"""Parameters and tables of a query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import _native
from ._convert import is_table
from .errors import ArgumentError


def named_parameters(sql: str, params: Mapping[str, Any] | Iterable[Any] | None) -> tuple[str, dict[str, Any]]:
    """Returns a query and the values of its parameters by name. Parameters by position get numbers as names.

    Args:
        sql: Text of the query.
        params: Values by name or by position.

    Returns:
        Text and values.

    Raises:
        tsql.errors.ArgumentError: If `params` is not a list of values, or the number of values is wrong.
    """
    if params is None:
        return sql, {}
    if isinstance(params, Mapping):
        return sql, {str(name): value for name, value in params.items()}
    if isinstance(params, (str, bytes)) or not isinstance(params, Iterable):
        kind = type(params).__name__
        raise ArgumentError(f"`{kind}` is not a list of parameters\nhint: [value], or {{\"name\": value}}", name="params")
    values = list(params)
    return _native.numbered(sql, len(values)), {str(number): value for number, value in enumerate(values, 1)}


def tables_in_scope(names: Iterable[str], scopes: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the tables that a query names.

    Args:
        names: Names in the query: exact, or in lower case.
        scopes: Variables by name, the first scope first.

    Returns:
        Tables by the name in the query.

    Raises:
        tsql.errors.ArgumentError: If several variables match a name.
    """
    found: dict[str, Any] = {}
    for name in names:
        for scope in scopes:
            values = [scope[name]] if name in scope else [value for other, value in scope.items() if other.lower() == name]
            tables = [value for value in values if is_table(value)]
            if len(tables) > 1 and any(table is not tables[0] for table in tables):
                hint = "hint: rename one, or write the name in double quotes, which match its case"
                raise ArgumentError(f"several variables match the table `{name}`\n{hint}", name="tables")
            if tables:
                found[name] = tables[0]
                break
    return found
