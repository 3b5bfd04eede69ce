"""Progress of a call: a callable receives it, or a line on standard error shows it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

ProgressCallback = Callable[[str, int, int], object]
"""Receives the current item, the completed amount and the total amount (0 if it is unknown)."""


class ProgressReport:
    """The argument `progress` of a call.

    Args:
        progress: `True` shows a line, a callable receives the progress, `False` shows nothing.
    """

    def __init__(self, progress: bool | ProgressCallback) -> None:
        self.callback: ProgressCallback | None = (
            None if progress is False else self._line if progress is True else progress
        )
        self._width = 0

    def __enter__(self) -> ProgressCallback | None:
        return self.callback

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)

    def _line(self, item: str, done: int, total: int) -> None:
        fraction = f"{100 * min(done, total) / total:3.0f} %" if total else f"{done:,}"
        line = f"{fraction}  {item}"[:100]
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = max(self._width, len(line))
