"""How far something is: told to a callable, or shown as a line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import TracebackType

Heard = Callable[[str, int, int], object]
"""Hears what is at work, how much of it is done, and how much there is (0 where that is not known)."""


class Shown:
    """`progress` as a call takes it: `True` shows a line, a callable hears it, `False` is silence."""

    def __init__(self, progress: bool | Heard) -> None:
        self.heard: Heard | None = None if progress is False else self._line if progress is True else progress
        self._width = 0

    def __enter__(self) -> Heard | None:
        return self.heard

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._width:
            print("\r" + " " * self._width, end="\r", file=sys.stderr, flush=True)

    def _line(self, what: str, done: int, of: int) -> None:
        share = f"{100 * min(done, of) / of:3.0f} %" if of else f"{done:,}"
        line = f"{share}  {what}"[:100]
        print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
        self._width = max(self._width, len(line))
