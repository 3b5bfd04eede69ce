"""tsql: an embedded columnar store and SQL engine for tensor-program performance data.

    >>> import tsql
    >>> store = tsql.sample()                  # tsql.open("DIRECTORY"), tsql.open("s3://BUCKET/PATH")
    >>> store.sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1").rows()
    [('epyc-1t', 240), ('epyc-2t', 240)]

`Store.sql` returns a `Result`, which polars, pandas, pyarrow, NumPy, torch, DuckDB and other readers of Arrow accept.
"""

import importlib as _importlib
import os as _os
import typing as _typing

from . import _native, dbapi, errors
from ._batch import Batch
from ._catalog import Column, Elements, Function, Table, functions, probe, tables, verify, workers
from ._native import version as _version
from ._plot import Plot
from ._queries import BuiltinQueries, BuiltinQuery
from ._result import Result
from ._store import Store, create, open, sample
from ._stream import Stream
from ._training import TrainingGraphs, TrainingRows
from ._training_batch import GraphStep, TrainingBatch
from ._ui import Ui
from .dbapi import connect
from .errors import Error

if _typing.TYPE_CHECKING:
    from . import measure, reports

if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(
        before=_native.before_fork,
        after_in_parent=_native.after_fork,
        after_in_child=_native.after_fork_in_child,
    )

__version__: str = _version()

__all__ = [
    "Batch",
    "BuiltinQueries",
    "BuiltinQuery",
    "Column",
    "Elements",
    "Error",
    "Function",
    "GraphStep",
    "Plot",
    "Result",
    "Store",
    "Stream",
    "Table",
    "TrainingBatch",
    "TrainingGraphs",
    "TrainingRows",
    "Ui",
    "__version__",
    "connect",
    "create",
    "dbapi",
    "errors",
    "functions",
    "measure",
    "open",
    "probe",
    "reports",
    "sample",
    "tables",
    "verify",
    "workers",
]


def __dir__() -> list[str]:
    """Returns the public names."""
    return sorted(__all__)


def __getattr__(name: str) -> _typing.Any:
    """Imports a module of the package on first use."""
    if name in ("measure", "reports"):
        return _importlib.import_module(f"tsql.{name}")
    raise AttributeError(f"module 'tsql' has no attribute {name!r}")


def load_ipython_extension(shell: _typing.Any) -> None:
    """Adds the magics `%tsql` and `%%tsql` to IPython: `%load_ext tsql` calls this function."""
    shell.register_magics(_importlib.import_module("tsql._magic").TsqlMagics)
