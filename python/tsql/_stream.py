"""Streams of records into a store."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._decode import decoded, lazy_module
from .errors import ArgumentError

if TYPE_CHECKING:
    from . import _ingest_reports
    from ._ingest_reports import Ingested
else:
    _ingest_reports = lazy_module("_ingest_reports")

Records = str | bytes | Mapping[str, Any] | Iterable[str | bytes | Mapping[str, Any]]
"""One or many lines, or records as dictionaries. Values that export Arrow are accepted, too."""

_LINES_PER_WRITE = 1000


class Stream:
    """A stream of records into a store. `Store.append` starts or resumes it.

    - Lines are committed in groups, in the background. `flush` waits until all lines are durable.
    - The name identifies a stream. A program that crashed sends the stream again from its beginning; stored lines are
      skipped.
    - A `with` block closes the stream. After an exception, durable lines stay, and the others are dropped. A record is
      never stored in part.

    Attributes:
        name: Name of the stream.
        report: Report of the stream; `None` until the stream is closed.

    Examples:
        >>> import tsql
        >>> record = {"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]}
        >>> with tsql.create("memory:").append("night-7", platform="a100") as stream:
        ...     stream.write(record)
        >>> stream.name, stream.report.records
        ('night-7', 1)
    """

    def __init__(self, native: _native.Appending, name: str) -> None:
        self._native = native
        self.name = name
        self.report: Ingested | None = None

    def write(self, records: Records | Any) -> None:
        """Writes records.

        An exception of an iterable is raised again. The records before it are written.

        Args:
            records: One or many lines in the format of the stream, or dictionaries with the keys of such lines. Rows
                that export Arrow are accepted if their columns have these names: a frame of polars, a table of pyarrow.

        Raises:
            tsql.errors.ArgumentError: If the value has no records.
            tsql.errors.ClosedError: If the stream is closed.
            tsql.errors.InputError: If the stream is strict, and a line was rejected.

        Examples:
            >>> import tsql
            >>> record = {"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]}
            >>> with tsql.create("memory:").append("night-7", platform="a100") as stream:
            ...     stream.write(record | {"steps": {"TILE": tile}} for tile in (8, 16, 32))
            >>> stream.report.records
            3
        """
        if hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__"):
            self._native.write_rows(records)
            return
        if isinstance(records, (str, bytes, Mapping)):
            self._native.write(_line(cast("str | bytes | Mapping[str, Any]", records)))
            return
        if not isinstance(records, Iterable):
            kind = type(records).__name__
            hint = "hint: lines, dictionaries, or rows that export Arrow; `collect()` computes a lazy frame"
            raise ArgumentError(f"`{kind}` has no records\n{hint}", name="records")
        lines: list[bytes] = []
        try:
            for record in cast("Iterable[str | bytes | Mapping[str, Any]]", records):
                lines.append(_line(record))
                if len(lines) == _LINES_PER_WRITE:
                    self._native.write(b"".join(lines))
                    lines.clear()
        finally:
            if lines:
                self._native.write(b"".join(lines))

    def flush(self) -> int:
        """Waits until all lines are durable.

        Returns:
            Number of durable lines.

        Examples:
            >>> import tsql
            >>> record = {"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]}
            >>> with tsql.create("memory:").append("night-7", platform="a100") as stream:
            ...     stream.write(record)
            ...     stream.flush(), stream.durable_lines
            (1, 1)
        """
        return self._native.flush()[0]

    @property
    def durable_lines(self) -> int:
        """Number of durable lines, from the first line of the stream."""
        return self._native.durable()[0]

    def close(self) -> Ingested:
        """Commits the remaining lines, and closes the stream.

        Returns:
            Report of the stream.

        Examples:
            >>> import tsql
            >>> stream = tsql.create("memory:").append("night-7", platform="a100")
            >>> stream.close().records
            0
        """
        return self._finish()

    def _finish(self) -> Ingested:
        """Closes the stream for a method that the user has called."""
        if self.report is None:
            self.report = decoded(_ingest_reports.Ingested, self._native.close())
            if self.report.rejects:
                _, line, reason = self.report.first_rejects[0]
                warnings.warn(
                    f"{self.report.rejects} of {self.report.lines} lines were rejected, first line {line}: {reason}\n"
                    "hint: `report.first_rejects` lists them; `strict=True` raises instead",
                    stacklevel=3,
                )
        return self.report

    def abort(self) -> None:
        """Closes the stream. Durable lines stay, and the others are dropped.

        Examples:
            >>> import tsql
            >>> store = tsql.create("memory:")
            >>> store.append("night-7", platform="a100").abort()
            >>> store.sql("SELECT count(*) FROM records").scalar()
            0
        """
        self._native.abort()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._finish()
        else:
            self.abort()

    def __repr__(self) -> str:
        return f"<tsql.Stream {self.name!r}>"


def _line(record: str | bytes | Mapping[str, Any]) -> bytes:
    if isinstance(record, Mapping):
        return json.dumps(dict(record), separators=(",", ":")).encode() + b"\n"
    if isinstance(record, str):
        record = record.encode()
    return record if record.endswith(b"\n") else record + b"\n"
