"""Converts JSON of the native module to dataclasses."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import json
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class lazy_module:
    """A module of the package that is imported when one of its attributes is read.

    Few programs need all report classes, and all programs wait for the import of the package.

    Args:
        name: Name of the module in the package.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(f"tsql.{self._name}"), name)


def decoded(kind: type[T], text: str) -> T:
    """Returns the JSON object `text` as a dataclass."""
    return from_json(kind, json.loads(text))


def decoded_list(kind: type[T], text: str) -> list[T]:
    """Returns the JSON array `text` as a list of dataclasses."""
    return [from_json(kind, value) for value in json.loads(text)]


def from_json(kind: type[T], value: Mapping[str, Any]) -> T:
    """Returns a parsed JSON object as a dataclass.

    Args:
        kind: The dataclass. Its fields may be dataclasses, and lists, tuples and optional values of dataclasses.
        value: The object. A key is the name of a field, or an earlier name of it.

    Returns:
        The dataclass.
    """
    names, kinds = _fields(typing.cast("typing.Hashable", kind))
    values = {}
    for name, keys in names.items():
        key = next((key for key in keys if key in value), name)
        values[name] = _value(kinds[name], value[key])
    return kind(**values)


@functools.cache
def _fields(kind: Any) -> tuple[dict[str, list[str]], dict[str, Any]]:
    """Returns the possible JSON keys of each field, and its type. Python reserves some names: `lambda_`."""
    earlier: dict[str, str] = getattr(kind, "_earlier_names", {})
    names = {
        field.name: [field.name.rstrip("_"), *(old for old, now in earlier.items() if now == field.name)]
        for field in dataclasses.fields(kind)
    }
    return names, typing.get_type_hints(kind)


def _value(kind: Any, value: Any) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return from_json(kind, value)
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is list:
        return [_value(inner[0], one) for one in value]
    if typing.get_origin(kind) is tuple:
        is_sequence = len(inner) == 2 and inner[1] is Ellipsis
        return tuple(_value(inner[0], one) if is_sequence else one for one in value)
    optional = [one for one in inner if one is not type(None)]
    if value is not None and len(optional) == 1 and len(inner) == 2 and type(None) in inner:
        return _value(optional[0], value)
    return value


def pairs(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Returns labels or parameters as the native module expects them: names and texts."""
    return [(name, str(value)) for name, value in (values or {}).items()]
