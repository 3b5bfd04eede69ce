"""Built-in queries as calls with signatures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from . import _native
from ._result import Result


class BuiltinQuery:
    """A built-in query, which runs when it is called.

    A call has keyword arguments only. An argument that is not given has its default. If there is no default, the
    store provides the value.

    Attributes:
        name: Name of the query.
        title: One line about the query.
        sql: Text of the query.
        parameters: Name and default of each parameter and each file. The default is `None` if the store provides the
            value, and for files.

    Examples:
        >>> import tsql
        >>> query = tsql.sample().queries["top-k-per-graph"]
        >>> query.parameters
        {'platform': None, 'k': '3'}
        >>> len(query(platform="epyc-1t", k=1))
        5
    """

    def __init__(self, store: _native.Store, description: dict[str, Any]) -> None:
        import inspect

        self._store = store
        self.name: str = description["name"]
        self.title: str = description["title"]
        self.sql: str = description["sql"]
        self.parameters: dict[str, str | None] = {one["name"]: one["default"] for one in description["parameters"]}
        meanings = [(one["name"], one["doc"]) for one in description["parameters"]] + list(description["files"])
        self.parameters |= {name: None for name, _ in description["files"]}
        self.__doc__ = "\n".join([self.title, "", *(f"{name}: {doc}" for name, doc in meanings)]).strip()
        self.__name__: str = self.name.replace("-", "_")
        self.__signature__: inspect.Signature = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=str | None)
                for name, default in self.parameters.items()
            ],
            return_annotation=Result,
        )

    def __call__(self, **arguments: str | float | PathLike[str] | None) -> Result:
        texts = [
            (name, fspath(value) if isinstance(value, PathLike) else str(value))
            for name, value in arguments.items()
            if value is not None
        ]
        return Result(self._store.run_query(self.name, texts))

    def __repr__(self) -> str:
        return f"<tsql query {self.name}{self.__signature__}>"


class BuiltinQueries(Mapping[str, BuiltinQuery]):
    """The built-in queries of a store by name, and the user's query files.

    Query files are in the folder that `TSQL_QUERIES` names, and in the folder `queries` beside the store. A name is
    also an attribute, with `_` in place of `-`.
    """

    def __init__(self, store: _native.Store) -> None:
        self._all = {one["name"]: BuiltinQuery(store, one) for one in json.loads(store.queries_json())}

    def __getitem__(self, name: str) -> BuiltinQuery:
        return self._all[name]

    def __getattr__(self, name: str) -> BuiltinQuery:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._all[name.replace("_", "-")]
        except KeyError:
            raise AttributeError(f"unknown query `{name}`\nhint: list(store.queries) has all names") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name.replace("-", "_") for name in self._all)]

    def __repr__(self) -> str:
        return "\n".join(f"{one.name}: {one.title}" for one in self._all.values())
