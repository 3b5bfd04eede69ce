"""tsql: an embedded columnar store and SQL engine for tensor-program performance data.

    >>> import tsql
    >>> store = tsql.sample()                  # tsql.open("DIRECTORY"), tsql.open("s3://BUCKET/PATH")
    >>> store.sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1").rows()
    [('epyc-1t', 240), ('epyc-2t', 240)]

`Store.sql` returns a `Result`, which polars, pandas, pyarrow, NumPy, torch, DuckDB and other readers of Arrow accept.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
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
from .errors import Error

if TYPE_CHECKING:
    from . import measure, reports

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
    "create",
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


def __getattr__(name: str) -> Any:
    """Imports a module of the package on first use."""
    if name in ("measure", "reports"):
        return importlib.import_module(f"tsql.{name}")
    raise AttributeError(f"module 'tsql' has no attribute {name!r}")
