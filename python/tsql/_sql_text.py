"""Finds statements and parameter names in the text of a query, outside of quotes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(
    r"""
      (?P<blank> --[^\n]* | \s+ )
    | (?P<comment> /\* )
    | (?<![\w$]) [eE] ' (?: [^'\\] | '' | \\. )* (?: ' | \Z )
    | ' (?: [^'] | '' )* (?: ' | \Z )
    | " (?: [^"] | "" )* (?: " | \Z )
    | (?<![\w$]) \$ (?P<tag> (?: [A-Za-z_]\w* )? ) \$ .*? (?: \$ (?P=tag) \$ | \Z )
    | (?<![\w$]) \$ (?P<name> [A-Za-z_]\w* )
    | (?P<end> ; )
    | [^\W\d]\w* | .
    """,
    re.VERBOSE | re.DOTALL,
)
_WITHOUT_ROWS = frozenset(("alter", "copy", "create", "deallocate", "drop", "insert", "prepare", "reset", "set"))
_COMMENT_EDGE = re.compile(r"/\*|\*/")


def _tokens(sql: str) -> Iterator[re.Match[str]]:
    """Yields the tokens of a query. Blanks and comments are no tokens."""
    position = 0
    while (token := _TOKEN.match(sql, position)) is not None:
        position = token.end()
        if token["comment"] is not None:
            position = _end_of_comment(sql, position)
        elif token["blank"] is None:
            yield token


def _end_of_comment(sql: str, position: int) -> int:
    """Returns the position after a comment; comments nest."""
    depth = 1
    while depth and (edge := _COMMENT_EDGE.search(sql, position)) is not None:
        depth += 1 if edge[0] == "/*" else -1
        position = edge.end()
    return position if depth == 0 else len(sql)


def _first_tokens(sql: str) -> list[str]:
    """Returns the first token of each statement. Empty statements do not count."""
    found: list[str] = []
    is_within = False
    for token in _tokens(sql):
        is_end = token["end"] is not None
        if not is_end and not is_within:
            found.append(token[0])
        is_within = not is_end
    return found


def statement_count(sql: str) -> int:
    """Returns the number of statements of a query text. Empty statements do not count."""
    return len(_first_tokens(sql))


def dropped_query_count(sql: str) -> int:
    """Returns the number of queries before the last statement, whose rows no call returns."""
    return sum(first.lower() not in _WITHOUT_ROWS for first in _first_tokens(sql)[:-1])


def parameter_names(sql: str) -> list[str]:
    """Returns the names of the parameters `$NAME` of a query, each once."""
    return list(dict.fromkeys(token["name"] for token in _tokens(sql) if token["name"] is not None))
