"""Answers, and what other packages make of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from os import fspath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _html, _native
from ._facts import Column, columns_of
from ._plot import Kind, Plot, Theme, spec_of
from .errors import ArgumentError, ClosedError, Error

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow
    import torch


class Batch:
    """Some rows of an answer. Whoever takes Arrow takes it as it is: `pyarrow.record_batch(batch)`."""

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
        return self._native.array_capsules()

    @property
    def columns(self) -> tuple[Column, ...]:
        """Its columns with types, units and meaning."""
        return columns_of(self._native.columns())

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Its columns as NumPy arrays: see `Result.numpy`."""
        return numpy_of(self._native.arrays())

    def torch(self) -> dict[str, torch.Tensor]:
        """Its columns as tensors: see `Result.torch`."""
        return torch_of(self._native.arrays(writable=True))

    def rows(self) -> list[tuple[Any, ...]]:
        """Its rows as tuples."""
        return list(zip(*self._native.lists(), strict=True))


class Result:
    """The answer to a question: planned already, and computed once, when somebody reads it.

    - It comes batch by batch, in bounded memory: `for batch in result`, or whoever takes Arrow streams
      (`polars.DataFrame(result)`, `pyarrow.RecordBatchReader.from_stream(result)`, DuckDB's `FROM result`).
    - `arrow`, `pl`, `df`, `numpy`, `torch` and `rows` give all of it at once; they need the package of that name.
    - `fetchone`, `fetchmany` and `fetchall` give rows as cursors of Python's databases do.
    - It is read by one of them, once: a second time raises `tsql.errors.ClosedError`. `len`, `show` and `head` leave the rows there.

    >>> import tsql
    >>> result = tsql.sample().sql("SELECT platform, runtime_ns FROM records LIMIT 1")
    >>> [(column.name, column.unit) for column in result.columns]
    [('platform', None), ('runtime_ns', 'ns')]
    """

    __slots__ = ("_fetched", "_native")

    def __init__(self, native: _native.Answer) -> None:
        self._native = native
        self._fetched: Iterator[tuple[Any, ...]] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns with types, units and meaning; nothing is computed for that."""
        return columns_of(self._native.columns())

    def __arrow_c_schema__(self) -> object:
        return self._native.schema_capsule()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream(requested_schema)

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def __len__(self) -> int:
        """How many rows it has. They are computed for that, held in memory, and still there for whoever reads them."""
        return self._native.count()

    def __bool__(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        """Raises `tsql.errors.ArgumentError`: `pandas.DataFrame(result)` would be one column of batches."""
        hint = "hint: `result.df()` and `pandas.DataFrame.from_arrow(result)` are frames, `result.numpy()` has an array for each column"
        raise ArgumentError(f"a result is no single array: its columns have types of their own\n{hint}", name="result")

    def batches(self, batch_rows: int | None = None) -> Iterator[Batch]:
        """The rows in batches of so many (the last one may have fewer), or as they are computed; in bounded memory."""
        if batch_rows is not None and batch_rows < 1:
            raise ArgumentError("a batch has at least one row", name="batch_rows")
        return self._batches(batch_rows)

    def _batches(self, batch_rows: int | None) -> Iterator[Batch]:
        self._native.begin(batch_rows)
        while (batch := self._native.next_batch()) is not None:
            yield Batch(batch)

    def head(self, rows: int = 5) -> list[tuple[Any, ...]]:
        """The first rows, which are still there for whoever reads all."""
        first = self._native.peek(rows)
        if first is None:
            raise ClosedError("this result is being read, or was read already")
        return Batch(first[0]).rows()

    def fetchone(self) -> tuple[Any, ...] | None:
        """The next row; None after the last one."""
        return next(self._cursor(), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """The next rows, at most so many."""
        return list(islice(self._cursor(), size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """All rows, or those that `fetchone` and `fetchmany` have left."""
        return list(self._cursor())

    def _cursor(self) -> Iterator[tuple[Any, ...]]:
        if self._fetched is None:
            self._fetched = (row for batch in self for row in batch.rows())
        return self._fetched

    def arrow(self) -> pyarrow.Table:
        """All rows as a table of pyarrow."""
        import pyarrow

        return pyarrow.Table.from_batches(
            [pyarrow.record_batch(batch) for batch in self], pyarrow.schema(self)
        )

    def pl(self) -> polars.DataFrame:
        """All rows as a frame of polars."""
        import polars

        batches = [polars.DataFrame(batch) for batch in self]
        return polars.concat(batches) if batches else polars.DataFrame(self._empty())

    def df(self) -> pandas.DataFrame:
        """All rows as a frame of pandas (through pyarrow)."""
        frame: pandas.DataFrame = self.arrow().to_pandas()
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """As `df`."""
        return self.df()

    def to_polars(self) -> polars.DataFrame:
        """As `pl`."""
        return self.pl()

    def to_arrow(self) -> pyarrow.Table:
        """As `arrow`."""
        return self.arrow()

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """All columns as NumPy arrays, by name.

        Numbers and times are those of the answer, without a copy where it came in one batch (and cannot be written to
        then); lists of one length have a dimension more. Columns with NULLs are masked arrays, texts and other lists
        arrays of objects.

        >>> import tsql
        >>> tsql.sample().sql("SELECT runtime_ns FROM records WHERE status = 'ok' ORDER BY 1 LIMIT 2").numpy()["runtime_ns"].dtype
        dtype('float64')
        """
        return numpy_of(self._native.arrays())

    def torch(self) -> dict[str, torch.Tensor]:
        """All columns of numbers as tensors of torch, by name; they may be written to.

        Raises `TypeError` for a column that is no number, or has NULLs.
        """
        return torch_of(self._native.arrays(writable=True))

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows as tuples; times are `datetime`."""
        return list(zip(*self._native.lists(), strict=True))

    def dicts(self) -> list[dict[str, Any]]:
        """All rows as dictionaries."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows()]

    def scalar(self) -> Any:
        """The one value of an answer of one row and one column.

        >>> import tsql
        >>> tsql.sample().sql("SELECT count(*) FROM records").scalar()
        480
        """
        rows = self.rows()
        if len(rows) != 1 or len(rows[0]) != 1:
            shape = f"{len(rows)} rows and {len(self.columns)} columns"
            raise ValueError(f"an answer of {shape} is no single value")
        return rows[0][0]

    def explain(self, analyze: bool = False) -> str:
        """The plan of the question; with `analyze` it is answered once more, and what each step took is told."""
        return self._native.explain(analyze)

    def plot(
        self,
        kind: Kind | None = None,
        *,
        x: str | None = None,
        y: str | None = None,
        by: str | None = None,
        facet: str | None = None,
        low: str | None = None,
        high: str | None = None,
        value: str | None = None,
        limit: str | None = None,
        note: str | None = None,
        log: str | None = None,
        title: str | None = None,
        theme: Theme = "light",
        size: str = "column",
    ) -> Plot:
        """Draws the answer, as `tsql plot` does; the names are those of its columns. What is not given is chosen.

        - `by` are colours, `facet` pictures side by side; `low` and `high` a band around a line, `value` the colours of a
          heat map, `limit` a line across, `note` what each picture says.
        - `log` is `"none"`, `"x"`, `"y"` or `"xy"`; without it axes of times over more than two decades are logarithmic.
        - The question is asked once more for it: the rows are still there for whoever reads them. Of many rows a sample is
          drawn, and the picture says so.
        """
        spec = spec_of(
            kind=kind,
            x=x,
            y=y,
            by=by,
            facet=facet,
            low=low,
            high=high,
            value=value,
            limit=limit,
            note=note,
            log=log,
            title=title,
        )
        return Plot(self._native.plot(spec), theme, size)

    def show(self, rows: int = 20) -> None:
        """Prints the first rows; they are still there for whoever reads all."""
        print(self._text(rows))

    def _text(self, rows: int) -> str:
        first = self._native.peek(rows)
        return _html.text(self.columns, first)

    def _repr_html_(self) -> str:
        return _html.table(self.columns, self._native.peek(_html.ROWS))

    def __repr__(self) -> str:
        names = ", ".join(f"{column.name}: {column.type}" for column in self.columns)
        return f"<tsql.Result: {names}>"

    def _empty(self) -> Any:
        import pyarrow

        return pyarrow.schema(self).empty_table()


def is_table(value: Any) -> bool:
    """Exports rows by Arrow's interface."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


def size_bytes(size: int | str | None) -> int | None:
    """Bytes of a memory limit: a number of them, or a text like `"500MB"` or `"2GiB"`."""
    if isinstance(size, str):
        return _native.size_bytes(size)
    if size is not None and size <= 0:
        raise ArgumentError(f"`{size}` is no size; expected bytes, or a text like 2GiB", name="memory_limit")
    return size


@contextmanager
def as_file(given: Any) -> Iterator[str]:
    """A file with the rows of a table, where one is given instead of a file or a query; messages name the table's type."""
    if not is_table(given):
        yield fspath(given)
        return
    kind = type(given).__name__
    with TemporaryDirectory(prefix="tsql-") as folder:
        file = f"{folder}/{kind}.arrow"
        _native.write_arrow(given, file)
        try:
            yield file
        except Error as error:
            error.message = error.message.replace(file, kind)
            error.args = (error.message,)
            raise


def numpy_of(arrays: dict[str, Any]) -> dict[str, numpy.ndarray[Any, Any]]:
    """Arrays of what the library gives: `(bytes, dtype, shape, nulls)`, or lists."""
    import numpy

    made: dict[str, numpy.ndarray[Any, Any]] = {}
    for name, column in arrays.items():
        if isinstance(column, list):
            values = numpy.empty(len(column), dtype=object)
            values[:] = column
            made[name] = values
            continue
        buffer, dtype, shape, nulls = column
        values = numpy.frombuffer(buffer, dtype=dtype).reshape(shape)
        if nulls is not None:
            mask = numpy.frombuffer(nulls, dtype="?")
            made[name] = numpy.ma.masked_array(values, mask=mask)
            continue
        made[name] = values
    return made


def torch_of(arrays: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors of what the library gives."""
    import torch

    kinds = {
        "?": torch.bool,
        "<i1": torch.int8,
        "<i2": torch.int16,
        "<i4": torch.int32,
        "<i8": torch.int64,
        "<u1": torch.uint8,
        "<u2": torch.uint16,
        "<u4": torch.uint32,
        "<f2": torch.float16,
        "<f4": torch.float32,
        "<f8": torch.float64,
    }
    made: dict[str, torch.Tensor] = {}
    for name, column in arrays.items():
        if isinstance(column, list) or column[1] not in kinds:
            raise TypeError(f"column `{name}` is no tensor: leave it out, or cast it in SQL")
        buffer, dtype, shape, nulls = column
        if nulls is not None:
            raise TypeError(f"column `{name}` has NULLs: coalesce({name}, ...) gives them a value")
        if 0 in shape:
            made[name] = torch.empty(shape, dtype=kinds[dtype])
            continue
        made[name] = torch.frombuffer(buffer, dtype=kinds[dtype]).reshape(shape)
    return made
