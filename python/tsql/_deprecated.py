"""Earlier names of classes, attributes and arguments. Each still works and emits `DeprecationWarning`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, TypeVar

C = TypeVar("C", bound=type)
P = ParamSpec("P")
R = TypeVar("R")


def _warn(earlier: str, now: str) -> None:
    warnings.warn(f"`{earlier}` was renamed\nhint: `{now}`", DeprecationWarning, stacklevel=3)


def earlier_class(module: str, classes: Mapping[str, Any], names: Mapping[str, str], name: str) -> Any:
    """Returns the class that a module has for an earlier name; the rest of the module's `__getattr__`.

    Args:
        module: Name of the module.
        classes: Globals of the module.
        names: Earlier names and the current ones.
        name: Name that was not found.

    Returns:
        The class.

    Raises:
        AttributeError: If `name` is no earlier name.
    """
    if name not in names:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    _warn(f"{module}.{name}", f"{module}.{names[name]}")
    return classes[names[name]]


def earlier_attributes(**names: str) -> Callable[[C], C]:
    """Adds earlier names of fields, properties and methods to a class.

    Args:
        **names: Earlier names and the current ones.

    Returns:
        A decorator of classes.
    """

    def add(of: C) -> C:
        of._earlier_names = names  # type: ignore[attr-defined]
        for earlier, now in names.items():
            setattr(of, earlier, _alias(of.__name__, earlier, now))
        return of

    return add


def _alias(owner: str, earlier: str, now: str) -> property:
    def get(self: Any) -> Any:
        _warn(f"{owner}.{earlier}", f"{owner}.{now}")
        return getattr(self, now)

    return property(get, doc=f"Earlier name of `{now}`.")


def earlier_arguments(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Lets a function accept keyword arguments by their earlier names.

    Args:
        **names: Earlier names and the current ones.

    Returns:
        A decorator of functions. The signature of the function stays the same.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> R:
            for earlier in names.keys() & kwargs.keys():
                now = names[earlier]
                if now in kwargs:
                    raise TypeError(f"{function.__name__}() got `{now}` and its earlier name `{earlier}`")
                _warn(f"{earlier}=", f"{now}=")
                kwargs[now] = kwargs.pop(earlier)
            return function(*args, **kwargs)

        call._earlier_arguments = names  # type: ignore[attr-defined]
        return call

    return decorate
