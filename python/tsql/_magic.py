"""Magics of IPython: `%tsql` and `%%tsql`. Importing this module imports IPython."""

from __future__ import annotations

import re
import shlex
from io import StringIO
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class, no_var_expand

from . import _native
from ._parameters import tables_in_scope
from ._result import Result
from ._sql_text import parameter_names
from ._store import Store, open, sample
from .errors import Error

_USAGE = "expected options, then SQL: %tsql --store DIR -o NAME SELECT ..."
_ASSIGNMENT = re.compile(r"\s*([^\W\d]\w*)\s*<<\s*")
_WORD = re.compile(r"\s*(\S+)")


class Options:
    """Options at the beginning of a line.

    Attributes:
        store: Location of the store; `None` if it is not given.
        at: State of the store; `None` if it is not given.
        is_sample: Whether the store is the built-in sample.
        output: Variable to which the result is assigned; `None` if it is not given.
        sql: The rest of the line.
    """

    def __init__(self, line: str) -> None:
        self.store: str | None = None
        self.at: str | None = None
        self.output: str | None = None
        self.is_sample = False
        self.sql = line.strip()
        while (word := _WORD.match(self.sql)) is not None and re.match(r"-[-a-z]", word[1]) and not word[1] == "--":
            name, is_joined, value = word[1].partition("=")
            self.sql = self.sql[word.end() :]
            if name == "--sample" and not is_joined:
                self.is_sample = True
                continue
            if name not in ("--store", "--at", "-o", "--output"):
                raise UsageError(f"no option `{name}`, expected --store DIR, --sample, --at STATE or -o NAME")
            setattr(self, {"-o": "output"}.get(name, name.lstrip("-")), value if is_joined else self._value(name))
        if (assignment := _ASSIGNMENT.match(self.sql)) is not None and self.output is None:
            self.output, self.sql = assignment[1], self.sql[assignment.end() :]
        if self.output is not None and not self.output.isidentifier():
            raise UsageError(f"`{self.output}` is not the name of a variable")
        if self.is_sample and self.store is not None:
            raise UsageError("--store and --sample are two stores, expected one")

    def _value(self, name: str) -> str:
        """Takes the value of an option from the rest of the line; quotes allow blanks."""
        text = StringIO(self.sql)
        lexer = shlex.shlex(text, posix=True)
        lexer.whitespace_split, lexer.commenters = True, ""
        try:
            value = lexer.get_token()
        except ValueError:
            raise UsageError(f"the value of {name} has an open quote") from None
        if value is None:
            raise UsageError(f"{name} has no value; {_USAGE}")
        self.sql = text.read().strip()
        return value


@magics_class
class TsqlMagics(Magics):
    """Magics that run SQL on a store.

    Args:
        shell: Shell of IPython.
    """

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        self._variables: dict[str, Any] = shell.user_ns
        self._store: Store | None = None

    @no_var_expand
    @line_cell_magic
    def tsql(self, line: str, cell: str | None = None) -> Result | None:
        """Runs SQL on a store.

        %tsql [--store DIR] [--sample] [--at STATE] [-o NAME] SELECT ...

        --store DIR    folder or s3://BUCKET/PATH; later magics use it, too
        --sample       built-in sample; later magics use it, too
        --at STATE     tag, time or version
        -o NAME        assigns the result to a variable; `NAME << SELECT ...` is the same

        Without an option, the store is the last one, or the nearest one in the working directory or above.
        `$NAME` is a parameter with the value of the variable. Frames are tables. `%%tsql` runs the lines below.
        """
        options = Options(line)
        sql = options.sql if cell is None else f"{options.sql}\n{cell}".strip()
        try:
            store = self._selected(options)
            if sql:
                return self._run(store, sql, options.output)
        except Error as error:
            # The frames of the package would hide the message.
            raise error.with_traceback(None) from None
        if options.output is not None:
            raise UsageError(_USAGE)
        return None

    def _run(self, store: Store, sql: str, output: str | None) -> Result | None:
        """Runs SQL with variables as parameters and tables. Returns the result, unless it is assigned to a variable."""
        names = parameter_names(sql)
        for name in names:
            if name not in self._variables:
                raise UsageError(f"`${name}` has no value, expected a variable `{name}`")
        parameters = {name: self._variables[name] for name in names}
        tables = tables_in_scope(_native.other_tables(sql), [self._variables])
        result = store.sql(sql, parameters, tables, variables=False)
        if output is None:
            return result
        self._variables[output] = result
        return None

    def _selected(self, options: Options) -> Store:
        """Returns the store of the options, or the last one."""
        if options.is_sample:
            self._store = sample()
        elif options.store is not None or self._store is None:
            self._store = open(options.store, at=options.at)
            return self._store
        return self._store if options.at is None else self._store.at(options.at)
