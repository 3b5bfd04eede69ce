"""The first rows of a result as text, and as HTML in notebooks."""

from __future__ import annotations

import html
from typing import Any

from . import _native
from ._catalog import Column

ROWS = 20
_LONGEST = 60


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return _number(value)
    text = str(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _number(value: float) -> str:
    """Returns six digits, and all digits before the point, so that a time in nanoseconds has no exponent."""
    if 1e5 <= abs(value) < 1e15:
        return f"{value:.1f}".removesuffix(".0")
    return f"{value:.6g}"


def _first(first: tuple[_native.Batch, bool] | None) -> tuple[list[tuple[Any, ...]], str]:
    """Returns rows, and a text about their number."""
    if first is None:
        return [], "read already"
    batch, more = first
    rows = list(zip(*batch.lists(), strict=True))
    summary = f"the first {len(rows)} rows" if more else f"{len(rows)} row{'' if len(rows) == 1 else 's'}"
    return rows, summary


def table(columns: tuple[Column, ...], first: tuple[_native.Batch, bool] | None) -> str:
    """Returns the first rows as HTML. The head has units, and descriptions as tooltips."""
    rows, summary = _first(first)
    heads = "".join(
        f'<th title="{html.escape(column.doc)}" style="text-align:left">{html.escape(column.name)}<br>'
        f'<small style="font-weight:normal">{html.escape(column.unit or column.type)}</small></th>'
        for column in columns
    )
    lines = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>" for row in rows
    )
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table><small>{summary}</small>"


def text(columns: tuple[Column, ...], first: tuple[_native.Batch, bool] | None) -> str:
    """Returns the first rows as a text table."""
    rows, summary = _first(first)
    cells = [[column.name for column in columns], *([_cell(value) for value in row] for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(columns))]
    numbers = [all(row[at] is None or isinstance(row[at], (int, float)) for row in rows) for at in range(len(columns))]
    lines = [
        "  ".join(
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(line, widths, numbers, strict=True)
        ).rstrip()
        for line in cells
    ]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join([*lines, f"({summary})"])
