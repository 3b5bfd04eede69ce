"""Features that other programs computed."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from . import _native
from ._parsed import parsed
from ._result import as_file

Path = str | PathLike[str]


@dataclass(frozen=True)
class RefusedRow:
    """A row that was refused: its line, or its number from 1, and why."""

    line: int
    refusal: str
    reason: str


@dataclass(frozen=True)
class FeaturesImported:
    """What an import of features did; `missing` are configurations of the same graphs that have none."""

    name: str
    version: int
    number_count: int
    rows: int
    added: int
    known: int
    doubled: int
    refused: dict[str, int]
    refused_rows: list[RefusedRow]
    configurations: int
    missing: int

    @property
    def is_clean(self) -> bool:
        """Nothing was refused."""
        return not self.refused


class Features:
    """Calls of a store that take features."""

    _native: _native.Store

    def import_features(
        self, source: Path | Any, name: str, *, version: int | None = None, column: str | None = None
    ) -> FeaturesImported:
        """Takes features that another program computed, TVM's 164 numbers of a program say: a file (Parquet, Arrow, CSV, JSON lines,
        npz), a query in parentheses, or a frame, whose rows name a configuration by `config_key` and have its numbers, as a list
        (`column`, where there are several) or in a column each.

        What is there already is not written again; rows that cannot be used are counted, and the first of each kind told.
        `write_training_files` takes them by their name, and SQL as rows of `features`.
        """
        with as_file(source) as file:
            return parsed(FeaturesImported, self._native.import_features(file, name, version, column))
