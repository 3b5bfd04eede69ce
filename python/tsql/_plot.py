"""Pictures of answers."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import Literal

from . import _native

Kind = Literal["line", "step", "scatter", "bar", "histogram", "ecdf", "box", "violin", "heat"]
Theme = Literal["light", "dark"]

_PIXELS = 1280


class Plot:
    """A picture of an answer: a notebook shows it as it is.

    `size` is `"column"` (of a paper: 640 by 400 units, letters of 6 to 7.5 points at 84 mm), `"slide"` (1280 by 720) or
    `"WIDTHxHEIGHT"`.

    >>> import tsql
    >>> plot = tsql.sample().plot("SELECT platform, runtime_ns FROM records", kind="ecdf", x="runtime_ns", by="platform")
    >>> plot.kind, plot.svg()[:4], plot.png()[1:4]
    ('ecdf', '<svg', b'PNG')
    """

    __slots__ = ("_native", "_size", "_theme")

    def __init__(self, native: _native.Picture, theme: Theme, size: str) -> None:
        self._native = native
        self._theme = theme
        self._size = size

    @property
    def kind(self) -> str:
        """What it is: `line`, `bar`, ..."""
        return self._native.kind

    def svg(self) -> str:
        """The picture as SVG."""
        return self._native.svg(self._theme, self._size)

    def png(self, width: int = _PIXELS) -> bytes:
        """The picture as a PNG file of `width` pixels across."""
        return self._native.png(self._theme, self._size, width)

    def html(self) -> str:
        """A page with the picture, which says what is below the pointer; it fetches nothing."""
        return self._native.html(self._size, "")

    def save(self, path: str | PathLike[str], width: int = _PIXELS) -> None:
        """Writes it to `NAME.svg`, `NAME.png` (of `width` pixels across) or `NAME.html`."""
        file = Path(fspath(path))
        match file.suffix.lower():
            case ".svg":
                _native.write_file(str(file), self.svg().encode())
            case ".png":
                _native.write_file(str(file), self.png(width))
            case ".html" | ".htm":
                _native.write_file(str(file), self.html().encode())
            case _:
                raise ValueError(f"`{file}` is no name of a picture: NAME.svg, NAME.png or NAME.html")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<tsql.Plot: {self.kind}>"

    def __str__(self) -> str:
        return self._native.text(80, 24)


def spec_of(**given: str | None) -> str:
    """What is given as the library reads it: `kind=line x=trial`."""
    for name, value in given.items():
        if value is not None and '"' in value:
            raise ValueError(f"{name}: a name with a quote cannot be drawn: give the column another one")
    return " ".join(f'{name}="{value}"' for name, value in given.items() if value is not None)
