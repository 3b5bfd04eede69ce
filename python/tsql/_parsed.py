"""From what the library tells to dataclasses."""

from __future__ import annotations

import importlib
import json
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

T = TypeVar("T")


class later:
    """A module of the package that is loaded when something of it is used: few need all of it, and all wait for it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(importlib.import_module(f"tsql.{self._name}"), name)


def parsed(of: type[T], text: str) -> T:
    """A report from what the library tells."""
    return made(of, json.loads(text))


def parsed_list(of: type[T], text: str) -> list[T]:
    """Reports from what the library tells."""
    return [made(of, one) for one in json.loads(text)]


def made(of: type[T], told: Any) -> T:
    """A dataclass from the dictionary that it was told as; dataclasses in it, too."""
    import dataclasses

    kinds = typing.get_type_hints(of)
    values = {field.name: _value(kinds[field.name], told[field.name.rstrip("_")]) for field in dataclasses.fields(of)}  # type: ignore[arg-type]
    return of(**values)


def _value(kind: Any, told: Any) -> Any:
    import dataclasses

    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return made(kind, told)
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is list:
        return [_value(inner[0], one) for one in told]
    if typing.get_origin(kind) is tuple:
        return tuple(told)
    optional = [one for one in inner if one is not type(None)]
    if told is not None and len(optional) == 1 and len(inner) == 2 and type(None) in inner:
        return _value(optional[0], told)
    return told


def pairs(labels: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Labels, or texts of parameters, as the library takes them."""
    return [(key, str(value)) for key, value in (labels or {}).items()]
