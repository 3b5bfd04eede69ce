"""The web UI of a store."""

from __future__ import annotations

from types import TracebackType

from . import _native


class Ui:
    """The web UI of a store, as `tsql ui` serves it. `Store.ui` starts it.

    A `with` block closes it at its end.

    Examples:
        >>> import tsql
        >>> with tsql.create("memory:").ui() as ui:
        ...     ui.url.startswith("http://127.0.0.1:")
        True
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Serving) -> None:
        self._native = native

    @property
    def url(self) -> str:
        """Address of the web UI on this machine. Keep it secret: it grants access."""
        return self._native.url

    def close(self) -> None:
        """Stops the web UI and its running queries. A second call does nothing.

        Examples:
            >>> import tsql
            >>> ui = tsql.create("memory:").ui()
            >>> ui.close()
        """
        self._native.close()

    def __enter__(self) -> Ui:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        return "<tsql.Ui>"
