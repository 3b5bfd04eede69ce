"""Batches of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _native
from ._catalog import Column, columns_from_json
from ._convert import numpy_arrays, torch_tensors

if TYPE_CHECKING:
    import numpy
    import torch


class Batch:
    """Some rows of a result.

    Packages that read Arrow accept a batch: `pyarrow.record_batch(batch)`, `polars.DataFrame(batch)`, and `FROM batch`
    in DuckDB. A batch can be read several times.

    Examples:
        >>> import tsql
        >>> batch = next(iter(tsql.create("memory:").sql("SELECT value FROM range(3)")))
        >>> batch
        <tsql.Batch: 3 rows, 1 columns>
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Batch) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native)

    def __repr__(self) -> str:
        return f"<tsql.Batch: {len(self)} rows, {len(self.columns)} columns>"

    def __arrow_c_schema__(self) -> object:
        return self._native.schema_capsule()

    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]:
        return self._native.array_capsules(requested_schema)

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream(requested_schema)

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the batch, with types, units and descriptions.

        Examples:
            >>> import tsql
            >>> batch = next(iter(tsql.sample().sql("SELECT runtime_ns FROM records LIMIT 3")))
            >>> [(column.name, column.unit) for column in batch.columns]
            [('runtime_ns', 'ns')]
        """
        return columns_from_json(self._native.columns())

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Returns the columns as NumPy arrays, as `Result.numpy` does.

        Returns:
            Arrays by column name.

        Examples:
            >>> import tsql
            >>> batch = next(iter(tsql.create("memory:").sql("SELECT value FROM range(3)")))
            >>> batch.numpy()["value"]
            array([0, 1, 2])
        """
        return numpy_arrays(self._native.arrays())

    def torch(self) -> dict[str, torch.Tensor]:
        """Returns the columns as tensors, as `Result.torch` does.

        Returns:
            Tensors by column name.

        Raises:
            TypeError: If a column is not numeric, or has NULLs.
        """
        return torch_tensors(self._native.arrays(writable=True))

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns the rows as tuples.

        Returns:
            One tuple for each row.

        Examples:
            >>> import tsql
            >>> batch = next(iter(tsql.create("memory:").sql("SELECT 1 AS a, 'x' AS b")))
            >>> batch.rows()
            [(1, 'x')]
        """
        return list(zip(*self._native.lists(), strict=True))
