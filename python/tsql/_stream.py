"""Streams: records that go into a store while they are made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from . import _native
from ._parsed import later, parsed

if TYPE_CHECKING:
    from . import _reports
    from ._reports import Ingested
else:
    _reports = later("_reports")

Records = str | bytes | Mapping[str, Any] | Iterable[str | bytes | Mapping[str, Any]]
"""Lines, records as dictionaries, one or many of them; anything that exports Arrow is taken, too."""

_TOGETHER = 1000


class Stream:
    """A stream that is appended to a store: see `Store.append`.

    - What is written is stored in groups, in the background; `flush` waits until it is durable.
    - A stream is known by its name. Whoever sends it again from its beginning, after a crash, doubles nothing.
    - Left by an exception, it keeps what is durable and drops the rest; no record is there in part.
    """

    def __init__(self, native: _native.Appending, name: str) -> None:
        self._native = native
        self.name = name
        self.report: Ingested | None = None
        """What it brought; there when it is closed."""

    def write(self, records: Records | Any) -> None:
        """Hands over records: a line or lines of the stream's format, dictionaries with the keys of such lines, or rows by
        Arrow's interface (a frame of polars, a table of pyarrow) with such columns.

        An exception of an iterable is raised as it is; records that it gave before are written, none in part.
        """
        if hasattr(records, "__arrow_c_stream__") or hasattr(records, "__arrow_c_array__"):
            self._native.write_rows(records)
            return
        if isinstance(records, (str, bytes, Mapping)):
            self._native.write(_line(cast("str | bytes | Mapping[str, Any]", records)))
            return
        lines: list[bytes] = []
        try:
            for record in records:
                lines.append(_line(record))
                if len(lines) == _TOGETHER:
                    self._native.write(b"".join(lines))
                    lines.clear()
        finally:
            if lines:
                self._native.write(b"".join(lines))

    def flush(self) -> int:
        """Waits until all that was written is durable; how many lines of the stream are."""
        return self._native.flush()[0]

    @property
    def durable_lines(self) -> int:
        """Lines of the stream, from its first on, that are in the store for good."""
        return self._native.durable()[0]

    def close(self) -> Ingested:
        """Stores what is left, and says what the stream brought."""
        if self.report is None:
            self.report = parsed(_reports.Ingested, self._native.close())
        return self.report

    def abort(self) -> None:
        """Ends the stream: what is durable stays, the rest is dropped."""
        self._native.abort()

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
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
