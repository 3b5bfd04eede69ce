"""Type objects and parameters of DB-API 2.0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from .errors import ArgumentError


class TypeObject:
    """A type object of PEP 249. It equals the type codes of its columns, which are names of Arrow types.

    Args:
        name: Name of the object.
        *prefixes: Beginnings of the names of its Arrow types.
    """

    def __init__(self, name: str, *prefixes: str) -> None:
        self._name = name
        self._prefixes = prefixes

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return other.startswith(self._prefixes)
        return self is other

    def __hash__(self) -> int:
        return hash(self._name)

    def __repr__(self) -> str:
        return f"tsql.dbapi.{self._name}"


STRING = TypeObject("STRING", "text", "Utf8", "LargeUtf8")
BINARY = TypeObject("BINARY", "Binary", "LargeBinary", "FixedSizeBinary")
NUMBER = TypeObject("NUMBER", "Int8", "Int16", "Int32", "Int64", "UInt", "Float", "Decimal")
DATETIME = TypeObject("DATETIME", "Date", "Time")
ROWID = TypeObject("ROWID")


def bound_parameters(parameters: Mapping[str, Any] | Iterable[Any] | None) -> dict[str, Any] | list[Any]:
    """Returns parameters as the engine binds them.

    Args:
        parameters: Values by position or by name; `None` for no values.

    Returns:
        Values by name, or by position.

    Raises:
        tsql.errors.ArgumentError: If the parameters are one text or one number.
    """
    if parameters is None:
        return []
    if isinstance(parameters, Mapping):
        return {str(name): _value(value) for name, value in parameters.items()}
    if isinstance(parameters, (str, bytes, bytearray, memoryview)) or not isinstance(parameters, Iterable):
        kind = type(parameters).__name__
        reason = f"`{kind}` is not a list of parameters"
        raise ArgumentError(f"{reason}\nhint: [value], or {{\"name\": value}}", name="parameters")
    return [_value(value) for value in parameters]


def _value(value: Any) -> Any:
    if isinstance(value, (bytearray, memoryview)):
        return bytes(value)
    return value
