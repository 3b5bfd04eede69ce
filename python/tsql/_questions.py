"""Ready-made questions as calls with signatures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from . import _native
from ._result import Result


class Question:
    """A ready-made question: called, it gives a `Result`. What is not given is as `sql` says, or chosen from the store."""

    def __init__(self, store: _native.Store, told: dict[str, Any]) -> None:
        import inspect

        self._store = store
        self.name: str = told["name"]
        self.title: str = told["title"]
        self.sql: str = told["sql"]
        self.parameters: dict[str, str | None] = {one["name"]: one["default"] for one in told["parameters"]}
        """Names and defaults; `None` where the store has one, or a file is asked for."""
        meanings = [(one["name"], one["doc"]) for one in told["parameters"]] + list(told["files"])
        self.parameters |= {name: None for name, _ in told["files"]}
        self.__doc__ = "\n".join([self.title, "", *(f"{name}: {doc}" for name, doc in meanings)]).strip()
        self.__name__ = self.name.replace("-", "_")
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=str | None)
                for name, default in self.parameters.items()
            ],
            return_annotation=Result,
        )

    def __call__(self, **given: str | float | PathLike[str] | None) -> Result:
        texts = [
            (name, fspath(value) if isinstance(value, PathLike) else str(value))
            for name, value in given.items()
            if value is not None
        ]
        return Result(self._store.ask(self.name, texts))

    def __repr__(self) -> str:
        return f"<tsql question {self.name}{self.__signature__}>"


class Questions(Mapping[str, Question]):
    """The ready-made questions by name, and the user's own (`TSQL_QUERIES`, `queries/` beside the store).

    >>> import tsql
    >>> store = tsql.sample()
    >>> store.questions.platform_summary().columns[0].name
    'dataset'
    >>> store.questions["top-k-per-graph"].parameters
    {'platform': None, 'k': '3'}
    """

    def __init__(self, store: _native.Store) -> None:
        self._all = {one["name"]: Question(store, one) for one in json.loads(store.questions())}

    def __getitem__(self, name: str) -> Question:
        return self._all[name]

    def __getattr__(self, name: str) -> Question:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._all[name.replace("_", "-")]
        except KeyError:
            raise AttributeError(f"no question `{name}`: list(store.questions) has those there are") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name.replace("-", "_") for name in self._all)]

    def __repr__(self) -> str:
        return "\n".join(f"{one.name}: {one.title}" for one in self._all.values())
