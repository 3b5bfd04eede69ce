"""Features that other programs computed."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any

from . import _native
from ._convert import as_file
from ._decode import decoded
from ._deprecated import earlier_arguments, earlier_attributes

Path = str | PathLike[str]


@earlier_attributes(refusal="category")
@dataclass(frozen=True)
class RejectedRow:
    """A rejected row of an import of features.

    Attributes:
        line: Line of CSV or JSON lines; for other formats the number of the row, from 1.
        category: Category of the reason.
        reason: Reason in detail.
    """

    line: int
    category: str
    reason: str


@earlier_attributes(
    version="revision", known="unchanged", doubled="duplicates", refused="rejected", refused_rows="rejected_rows"
)
@dataclass(frozen=True)
class FeaturesImported:
    """Report of an import of features.

    Attributes:
        name: Name of the features.
        revision: Revision of the features.
        number_count: Number of values of each row.
        rows: Number of rows that were read.
        added: Number of rows that are new in the store.
        unchanged: Number of rows that the store already had.
        duplicates: Number of rows that repeat an earlier row.
        rejected: Number of rejected rows, by category.
        rejected_rows: The first rejected rows of each category.
        configurations: Number of configurations that have these features.
        missing: Number of configurations of the same graphs without these features.
    """

    name: str
    revision: int
    number_count: int
    rows: int
    added: int
    unchanged: int
    duplicates: int
    rejected: dict[str, int]
    rejected_rows: list[RejectedRow]
    configurations: int
    missing: int

    @property
    def is_clean(self) -> bool:
        """Whether no row was rejected."""
        return not self.rejected


class FeatureMethods:
    """Methods of a store that import features."""

    _native: _native.Store

    @earlier_arguments(version="revision")
    def import_features(
        self, source: Path | Any, name: str, *, revision: int | None = None, column: str | None = None
    ) -> FeaturesImported:
        """Imports features that another program computed, such as TVM's 164 numbers of a program.

        `write_training_files` accepts the features by their name. In SQL, they are rows of the table `features`.

        Args:
            source: A file (Parquet, Arrow, CSV, JSON lines or npz), a query in parentheses, or a frame or table. A row
                has the column `config_key`, and its numbers either in one column with lists, or in a column each.
            name: Name of the features.
            revision: Revision of the features; without it, the newest one, or 1.
            column: Column with the lists, if there are several.

        Returns:
            Numbers of rows that were added, unchanged and rejected.

        Raises:
            tsql.errors.InputError: If the source cannot be read.
            tsql.errors.ArgumentError: If the revision or the column is invalid.

        Examples:
            >>> import tsql
            >>> store = tsql.sample()
            >>> sql = "(SELECT config_key, schedule_numbers(steps) AS x FROM configurations)"
            >>> imported = store.import_features(sql, "mine")
            >>> imported.added, imported.number_count, imported.revision, imported.is_clean
            (230, 113, 1, True)
        """
        with as_file(source) as file:
            return decoded(FeaturesImported, self._native.import_features(file, name, revision, column))
