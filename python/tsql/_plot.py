"""Plots of results."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from . import _native
from .errors import ArgumentError

Kind = Literal["line", "step", "scatter", "bar", "histogram", "ecdf", "box", "violin", "heat"]
Theme = Literal["light", "dark"]

_PIXELS = 1280


class Plot:
    """A plot of a result. A notebook shows it.

    `Store.plot` and `Result.plot` create plots.

    Examples:
        >>> import tsql
        >>> sql = "SELECT platform, runtime_ns FROM records"
        >>> plot = tsql.sample().plot(sql, kind="ecdf", x="runtime_ns", by="platform")
        >>> plot
        <tsql.Plot: ecdf>
    """

    __slots__ = ("_native", "_size", "_theme")

    def __init__(self, native: _native.RenderedPlot, theme: Theme, size: str) -> None:
        self._native = native
        self._theme = theme
        self._size = size

    @property
    def kind(self) -> str:
        """Kind of the plot: `line`, `step`, `scatter`, `bar`, `histogram`, `ecdf`, `box`, `violin` or `heat`.

        Examples:
            >>> import tsql
            >>> tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1").kind
            'bar'
        """
        return self._native.kind

    def svg(self) -> str:
        """Returns the plot as SVG.

        Returns:
            Text of an SVG file.

        Examples:
            >>> import tsql
            >>> plot = tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1")
            >>> plot.svg()[:4]
            '<svg'
        """
        return self._native.svg(self._theme, self._size)

    def png(self, width: int = _PIXELS) -> bytes:
        """Returns the plot as PNG.

        Args:
            width: Width in pixels.

        Returns:
            Bytes of a PNG file.

        Examples:
            >>> import tsql
            >>> plot = tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1")
            >>> plot.png(width=320)[1:4]
            b'PNG'
        """
        return self._native.png(self._theme, self._size, width)

    def html(self) -> str:
        """Returns an HTML page with the plot. The page shows values below the pointer and fetches nothing.

        Returns:
            Text of an HTML file.

        Examples:
            >>> import tsql
            >>> plot = tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1")
            >>> plot.html()[:15]
            '<!DOCTYPE html>'
        """
        return self._native.html(self._size, "")

    def save(self, path: str | PathLike[str], width: int = _PIXELS) -> None:
        """Writes the plot to a file.

        Args:
            path: Path of the file. Its extension selects the format: `.svg`, `.png` or `.html`.
            width: Width of a PNG file in pixels.

        Raises:
            tsql.errors.ArgumentError: If the extension is another one.

        Examples:
            >>> import pathlib, tempfile, tsql
            >>> plot = tsql.sample().plot("SELECT platform, count(*) AS count FROM records GROUP BY 1")
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     plot.save(f"{folder}/operators.svg")
            ...     pathlib.Path(folder, "operators.svg").read_text()[:4]
            '<svg'
        """
        file = Path(fspath(path))
        match file.suffix.lower():
            case ".svg":
                _native.write_file(str(file), self.svg().encode())
            case ".png":
                _native.write_file(str(file), self.png(width))
            case ".html" | ".htm":
                _native.write_file(str(file), self.html().encode())
            case _:
                raise ArgumentError(f"`{file}` has another extension, expected NAME.svg, NAME.png or NAME.html", name="path")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<tsql.Plot: {self.kind}>"

    def __str__(self) -> str:
        return self._native.text(80, 24)


def plot_spec(**options: str | None) -> str:
    """Returns options in the syntax of the native module: `kind="line" x="trial"`.

    Raises:
        ValueError: If a value has a double quote.
    """
    for name, value in options.items():
        if value is not None and '"' in value:
            raise ValueError(f"{name}: `{value}` has a double quote\nhint: rename the column in SQL: AS NAME")
    return " ".join(f'{name}="{value}"' for name, value in options.items() if value is not None)
