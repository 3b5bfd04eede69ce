"""Results of queries, and their conversions for other packages."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from . import _display, _native
from ._batch import Batch
from ._catalog import Column, columns_from_json
from ._convert import numpy_arrays, torch_tensors
from ._deprecated import earlier_arguments
from ._plot import Kind, Plot, Theme, plot_spec
from .errors import ArgumentError, ClosedError

if TYPE_CHECKING:
    import numpy
    import pandas
    import polars
    import pyarrow
    import torch


class Result:
    """Rows of a query. The query runs when the rows are read, and only once.

    - `for batch in result` reads the rows in batches, with bounded memory. Packages that read Arrow streams accept a
      result: `polars.DataFrame(result)`, `pyarrow.RecordBatchReader.from_stream(result)`, and `FROM result` in DuckDB.
    - `arrow`, `pl`, `df`, `numpy`, `torch` and `rows` return all rows at once.
    - `fetchone`, `fetchmany` and `fetchall` return rows as cursors of other databases do.
    - The rows can be read once. A second read raises `tsql.errors.ClosedError`. `len`, `show`, `head` and `plot` do not
      read them.

    Examples:
        >>> import tsql
        >>> result = tsql.sample().sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1")
        >>> result
        <tsql.Result: platform: text, count: Int64>
        >>> result.rows()
        [('epyc-1t', 240), ('epyc-2t', 240)]
    """

    __slots__ = ("_fetched", "_native")

    def __init__(self, native: _native.QueryResult) -> None:
        self._native = native
        self._fetched: Iterator[tuple[Any, ...]] | None = None

    @property
    def columns(self) -> tuple[Column, ...]:
        """Columns of the result, with types, units and descriptions. The query does not run for them.

        Examples:
            >>> import tsql
            >>> result = tsql.sample().sql("SELECT platform, runtime_ns FROM records LIMIT 1")
            >>> [(column.name, column.unit) for column in result.columns]
            [('platform', None), ('runtime_ns', 'ns')]
        """
        return columns_from_json(self._native.columns())

    def __arrow_c_schema__(self) -> object:
        return self._native.schema_capsule()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.stream(requested_schema)

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()

    def __len__(self) -> int:
        """Returns the number of rows. The query runs, and its rows stay in memory until they are read.

        Examples:
            >>> import tsql
            >>> result = tsql.sample().sql("SELECT * FROM records")
            >>> len(result), len(result.rows())
            (480, 480)
        """
        return self._native.count()

    def __bool__(self) -> bool:
        return True

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray[Any, Any]:
        """Raises `tsql.errors.ArgumentError`: `pandas.DataFrame(result)` would be one column of batches."""
        message = "a result is not one array, because its columns have their own types"
        hint = "hint: `result.df()` returns a frame of pandas, `result.numpy()` an array for each column"
        raise ArgumentError(f"{message}\n{hint}", name="result")

    def batches(self, batch_rows: int | None = None) -> Iterator[Batch]:
        """Reads the rows in batches, with bounded memory.

        Args:
            batch_rows: Number of rows of a batch; the last batch may have fewer. Without it, batches have the size in
                which they are computed.

        Returns:
            An iterator over batches.

        Raises:
            tsql.errors.ArgumentError: If `batch_rows` is below 1.

        Examples:
            >>> import tsql
            >>> result = tsql.create("memory:").sql("SELECT value FROM range(480)")
            >>> [len(batch) for batch in result.batches(200)]
            [200, 200, 80]
        """
        if batch_rows is not None and batch_rows < 1:
            raise ArgumentError(f"`{batch_rows}` is not a batch size, expected at least one row", name="batch_rows")
        return self._batches(batch_rows)

    def _batches(self, batch_rows: int | None) -> Iterator[Batch]:
        self._native.begin(batch_rows)
        while (batch := self._native.next_batch()) is not None:
            yield Batch(batch)

    def head(self, rows: int = 5) -> list[tuple[Any, ...]]:
        """Returns the first rows. A later call can still read all rows.

        Args:
            rows: Number of rows.

        Returns:
            One tuple for each row.

        Raises:
            tsql.errors.ClosedError: If the rows were read already.

        Examples:
            >>> import tsql
            >>> result = tsql.sample().sql("SELECT line FROM records ORDER BY line")
            >>> result.head(2)
            [(1,), (1,)]
            >>> len(result.rows())
            480
        """
        first = self._native.peek(rows)
        if first is None:
            raise ClosedError("the rows of this result are being read, or were read already")
        return Batch(first[0]).rows()

    def fetchone(self) -> tuple[Any, ...] | None:
        """Returns the next row.

        Returns:
            The row as a tuple; `None` after the last row.

        Examples:
            >>> import tsql
            >>> result = tsql.create("memory:").sql("SELECT 1 AS a")
            >>> result.fetchone(), result.fetchone()
            ((1,), None)
        """
        return next(self._cursor(), None)

    def fetchmany(self, size: int = 1) -> list[tuple[Any, ...]]:
        """Returns the next rows.

        Args:
            size: Maximum number of rows.

        Returns:
            One tuple for each row; empty after the last row.

        Examples:
            >>> import tsql
            >>> result = tsql.create("memory:").sql("SELECT value FROM range(480)")
            >>> len(result.fetchmany(100)), len(result.fetchall())
            (100, 380)
        """
        return list(islice(self._cursor(), size))

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Returns the rows that `fetchone` and `fetchmany` have left.

        Returns:
            One tuple for each row.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").sql("SELECT 1 AS a UNION ALL SELECT 2 ORDER BY a").fetchall()
            [(1,), (2,)]
        """
        return list(self._cursor())

    def _cursor(self) -> Iterator[tuple[Any, ...]]:
        if self._fetched is None:
            self._fetched = self._fetched_rows()
        return self._fetched

    def _fetched_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yields all rows. After an error another call is an error, too, so that some rows do not look like all rows."""
        try:
            for batch in self:
                yield from batch.rows()
        except (Exception, KeyboardInterrupt):
            self._fetched = None
            raise

    def arrow(self) -> pyarrow.Table:
        """Returns all rows as a pyarrow table. Needs pyarrow.

        Returns:
            The table. The metadata of a field has its unit and description.
        """
        import pyarrow

        return pyarrow.Table.from_batches(
            [pyarrow.record_batch(batch) for batch in self], pyarrow.schema(self)
        )

    def pl(self) -> polars.DataFrame:
        """Returns all rows as a polars frame. Needs polars.

        Returns:
            The frame.
        """
        import polars

        batches = [polars.DataFrame(batch) for batch in self]
        return polars.concat(batches) if batches else polars.DataFrame(self._empty())

    def df(self) -> pandas.DataFrame:
        """Returns all rows as a pandas frame. Needs pandas and pyarrow.

        Returns:
            The frame.
        """
        frame: pandas.DataFrame = self.arrow().to_pandas()
        return frame

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the same as `df`."""
        return self.df()

    def to_polars(self) -> polars.DataFrame:
        """Returns the same as `pl`."""
        return self.pl()

    def to_arrow(self) -> pyarrow.Table:
        """Returns the same as `arrow`."""
        return self.arrow()

    def numpy(self) -> dict[str, numpy.ndarray[Any, Any]]:
        """Returns all columns as NumPy arrays. Needs NumPy.

        Numbers and times of a single batch are not copied, and such arrays are read-only. Lists of one length add a
        dimension. Columns with NULLs are masked arrays. Texts and other lists are arrays of objects.

        Returns:
            Arrays by column name.

        Examples:
            >>> import tsql
            >>> result = tsql.sample().sql("SELECT runtime_ns FROM records WHERE status = 'ok' LIMIT 2")
            >>> result.numpy()["runtime_ns"].dtype
            dtype('float64')
        """
        return numpy_arrays(self._native.arrays())

    def torch(self) -> dict[str, torch.Tensor]:
        """Returns all columns as writable tensors. Needs torch.

        Returns:
            Tensors by column name.

        Raises:
            TypeError: If a column is not numeric, or has NULLs.
        """
        return torch_tensors(self._native.arrays(writable=True))

    def rows(self) -> list[tuple[Any, ...]]:
        """Returns all rows as tuples. Times are `datetime`, times of day `datetime.time`, and decimals `Decimal`.

        Returns:
            One tuple for each row.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").sql("SELECT DATE '2026-11-24' AS day, NULL AS nothing, [1, 2] AS list").rows()
            [(datetime.date(2026, 11, 24), None, [1, 2])]
        """
        return list(zip(*self._native.lists(), strict=True))

    def dicts(self) -> list[dict[str, Any]]:
        """Returns all rows as dictionaries.

        Returns:
            One dictionary for each row, with the column names as keys.

        Examples:
            >>> import tsql
            >>> tsql.create("memory:").sql("SELECT 1 AS a, 'x' AS b").dicts()
            [{'a': 1, 'b': 'x'}]
        """
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows()]

    def scalar(self) -> Any:
        """Returns the single value of a result with one row and one column.

        Returns:
            The value.

        Raises:
            ValueError: If there are more rows or columns, or no rows.

        Examples:
            >>> import tsql
            >>> tsql.sample().sql("SELECT count(*) FROM records").scalar()
            480
        """
        rows = self.rows()
        if len(rows) != 1 or len(rows[0]) != 1:
            shape = f"{len(rows)} rows and {len(self.columns)} columns"
            raise ValueError(f"the result has {shape}, expected 1 row and 1 column")
        return rows[0][0]

    def explain(self, analyze: bool = False) -> str:
        """Returns the plan of the query.

        Args:
            analyze: Whether to run the query, and to add the metrics of each operator.

        Returns:
            The plan as text.

        Examples:
            >>> import tsql
            >>> "Exec" in tsql.create("memory:").sql("SELECT line FROM records ORDER BY line").explain()
            True
        """
        return self._native.explain(analyze)

    @earlier_arguments(note="annotate")
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
        annotate: str | None = None,
        log: str | None = None,
        title: str | None = None,
        x_title: str | None = None,
        y_title: str | None = None,
        theme: Theme = "light",
        size: str = "column",
    ) -> Plot:
        """Plots the rows, as `tsql plot` does. Missing arguments are chosen from the columns.

        The query runs once more for the plot, so that a later call can still read the rows. Of more than 131,072 rows,
        a random sample is plotted, and the plot notes it. Bars and heat maps aggregate all rows.

        Args:
            kind: Kind of the plot.
            x: Column of the horizontal axis.
            y: Column of the vertical axis.
            by: Column with one color per value.
            facet: Column with one panel per value.
            low: Column with the lower bound of the band of a line.
            high: Column with the upper bound of the band of a line.
            value: Column with the colors of a heat map.
            limit: Column with a value that a line marks, such as the peak.
            annotate: Column whose first value annotates each panel, such as a correlation.
            log: Logarithmic axes: `"none"`, `"x"`, `"y"` or `"xy"`. Without it, axes of times over more than two
                decades are logarithmic.
            title: Title above the plot.
            x_title: Title of the horizontal axis, without the unit. Without it, the words of the column name.
            y_title: Title of the vertical axis, without the unit.
            theme: `"light"` or `"dark"`.
            size: `"column"` (of a two-column article), `"slide"`, or `"WIDTHxHEIGHT"` in units.

        Returns:
            The plot.

        Raises:
            tsql.errors.ArgumentError: If a column does not exist, or does not fit the plot.

        Examples:
            >>> import tsql
            >>> result = tsql.sample().sql("SELECT platform, runtime_ns FROM records WHERE status = 'ok'")
            >>> result.plot("box", x="platform", y="runtime_ns", log="y")
            <tsql.Plot: box>
        """
        spec = plot_spec(
            kind=kind,
            x=x,
            y=y,
            by=by,
            facet=facet,
            low=low,
            high=high,
            value=value,
            limit=limit,
            annotate=annotate,
            log=log,
            title=title,
            x_title=x_title,
            y_title=y_title,
        )
        return Plot(self._native.plot(spec), theme, size)

    def show(self, rows: int = 20) -> None:
        """Prints the first rows. A later call can still read all rows.

        Args:
            rows: Number of rows.

        Examples:
            >>> import tsql
            >>> tsql.sample().sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1").show()
            platform  count
            --------  -----
            epyc-1t     240
            epyc-2t     240
            (2 rows)
        """
        print(self._text(rows))

    def _text(self, rows: int) -> str:
        first = self._native.peek(rows)
        return _display.text(self.columns, first)

    def _repr_html_(self) -> str:
        return _display.table(self.columns, self._native.peek(_display.ROWS))

    def __repr__(self) -> str:
        names = ", ".join(f"{column.name}: {column.type}" for column in self.columns)
        return f"<tsql.Result: {names}>"

    def _empty(self) -> Any:
        import pyarrow

        return pyarrow.schema(self).empty_table()
