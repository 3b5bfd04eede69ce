"""The page on which a store is asked."""

from __future__ import annotations

from types import TracebackType

from . import _native


class Ui:
    """A page in the browser on which a store is asked, until it is closed: what `tsql ui` serves.

    >>> import tsql
    >>> with tsql.sample().ui() as ui:
    ...     ui.url.startswith("http://127.0.0.1:")
    True
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Serving) -> None:
        self._native = native

    @property
    def url(self) -> str:
        """The address to open on this machine. It is a secret: it lets in."""
        return self._native.url

    def close(self) -> None:
        """Ends the page, and what is asked on it."""
        self._native.close()

    def __enter__(self) -> Ui:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<tsql.Ui>"
