"""Training loaders of rows and of graphs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from . import _native
from ._batch import Batch
from ._catalog import Column, columns_from_json
from ._training_batch import GraphStep, TrainingBatch
from ._training_loader import TrainingLoader


class TrainingRows(TrainingLoader[TrainingBatch]):
    """A loader of the rows of a query. `Store.training_rows` creates it.

    A loop over the loader returns the batches of an epoch. `len`, `rows[index]` and `rows.take(indices)` read rows by
    their number, as samplers of NumPy, grain and torch do.

    Examples:
        >>> import tsql
        >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
        >>> len(rows), [len(batch) for batch in rows], rows[3]
        (480, [200, 200, 80], {'value': 3})
    """

    def _create(self) -> _native.RowLoader:
        how = {name: value for name, value in self._recipe.items() if name != "sql"}
        return self._store._native.training_rows(self._recipe["sql"], how)

    def _converted(self, native: Any) -> TrainingBatch:
        epoch, number, batch, group_sizes, is_padding = native
        return TrainingBatch(
            batch, epoch, self._step_of(number), group_sizes, number=number, is_padding=is_padding
        )

    def _batch_at(self, epoch: int, number: int) -> TrainingBatch:
        return self._converted(self._native().batch(epoch, number))

    def _total(self, epoch: int) -> int:
        total: int = self._native().total(epoch)
        return total

    def _rank_steps(self, epoch: int) -> int:
        steps: int = self._native().batch_count(epoch)
        return steps

    def batch(self, epoch: int, step: int) -> TrainingBatch:
        """Returns a batch of this rank, independent of the position of the loader.

        Args:
            epoch: Number of the epoch.
            step: Number of the batch among those of this rank.

        Returns:
            The batch.

        Raises:
            tsql.errors.ArgumentError: If the epoch has no such batch.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200)
            >>> len(rows.batch(epoch=5, step=2))
            80
        """
        return self._at(epoch, step)

    def batch_count(self, epoch: int = 0) -> int:
        """Returns the number of batches of an epoch for this rank, with padding. With groups, it depends on the epoch.

        Args:
            epoch: Number of the epoch.

        Returns:
            Number of batches.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").training_rows("SELECT value FROM range(480)", batch_rows=200).batch_count()
            3
        """
        return self._rank_steps(epoch)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the rows.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value, value % 7 AS k FROM range(480)")
            >>> [column.name for column in rows.columns]
            ['value', 'k']
        """
        return columns_from_json(self._native().columns())

    @property
    def group_count(self) -> int | None:
        """Number of groups; `None` without groups.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value % 7 AS k FROM range(480)", group="k")
            >>> rows.group_count
            7
        """
        count: int | None = self._native().group_count()
        return count

    def take(self, indices: Sequence[int]) -> Batch:
        """Returns rows by their numbers.

        Args:
            indices: Numbers of rows, from 0, in the order of the query.

        Returns:
            The rows, in the order of `indices`.

        Examples:
            >>> import tsql
            >>> rows = tsql.create("memory:").training_rows("SELECT value FROM range(480)")
            >>> rows.take([2, 0]).rows()
            [(2,), (0,)]
        """
        return Batch(self._native().rows([int(index) for index in indices]))

    def __len__(self) -> int:
        return len(self._native())

    def __getitem__(self, index: int) -> dict[str, Any]:
        if not -len(self) <= index < len(self):
            raise IndexError(index)
        return self.__getitems__([index % len(self)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        batch = self.take(indices)
        names = [column.name for column in batch.columns]
        return [dict(zip(names, row, strict=True)) for row in batch.rows()]

    def __repr__(self) -> str:
        return f"<tsql.TrainingRows: {len(self):,} rows of {self._recipe['sql']!r}>"


class TrainingGraphs(TrainingLoader[GraphStep]):
    """A loader of TpuGraphs graphs with some of their configurations. `Store.training_graphs` creates it.

    A loop over the loader returns the graphs of an epoch. `len` is the number of steps of an epoch for this rank, with
    padding.
    """

    def _create(self) -> _native.GraphLoader:
        how = {name: value for name, value in self._recipe.items() if name != "names"}
        return self._store._native.training_graphs(self._recipe["names"], how)

    def _converted(self, native: Any) -> GraphStep:
        return GraphStep(native, self._step_of(native["number"]))

    def _batch_at(self, epoch: int, number: int) -> GraphStep:
        return self._converted(self._native().step(epoch, number))

    def _total(self, epoch: int) -> int:
        total: int = self._native().total()
        return total

    def _rank_steps(self, epoch: int) -> int:
        return self.__len__()

    def step(self, epoch: int, step: int) -> GraphStep:
        """Returns a step of this rank, independent of the position of the loader.

        Args:
            epoch: Number of the epoch.
            step: Number of the step among those of this rank.

        Returns:
            The graph and its configurations.

        Raises:
            tsql.errors.ArgumentError: If the epoch has no such step.
        """
        return self._at(epoch, step)

    batch = step

    @property
    def files(self) -> list[str]:
        """Ids of the files."""
        return [file["id"] for file in json.loads(self._native().files())]

    def __len__(self) -> int:
        """Returns the number of steps of an epoch for this rank, with padding."""
        count: int = self._native().step_count()
        return count

    def __repr__(self) -> str:
        return f"<tsql.TrainingGraphs: {len(self):,} steps of {', '.join(self._recipe['names'])}>"
