"""Markdown from plain text."""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"([\\*_<\[\]])")
_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]+)")


def inline(text: str) -> str:
    """Returns one paragraph of text with `code` in backticks; special characters outside of code are escaped."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") and len(part) > 1 else _plain(part) for part in parts)


def _plain(text: str) -> str:
    parts = _OPTION.split(text)
    return "".join(f"`{part}`" if at % 2 else _SPECIAL.sub(r"\\\1", part) for at, part in enumerate(parts))


def code(text: str) -> str:
    """Returns a code span."""
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def fence(language: str, text: str) -> str:
    """Returns a code block."""
    return f"```{language}\n{text.rstrip()}\n```"


def table(heads: Iterable[str], rows: Iterable[Iterable[str]], align: Iterable[str] | None = None) -> str:
    """Returns a table of Markdown cells. `align` has `---` or `--:` for each column."""
    names = list(heads)
    lines = [names, list(align or ["---"] * len(names)), *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)


def indented(text: str) -> str:
    """Returns the text as the content of a list item, a definition or an admonition."""
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))
