"""tsql: an embedded columnar store and SQL engine for tensor-program performance data.

    >>> import tsql
    >>> store = tsql.sample()                  # tsql.open("DIRECTORY"), tsql.open("s3://BUCKET/PATH")
    >>> store.sql("SELECT platform, count(*) AS count FROM records GROUP BY 1 ORDER BY 1").rows()
    [('epyc-1t', 240), ('epyc-2t', 240)]

`Store.sql` gives a `Result`: rows for polars, pandas, pyarrow, NumPy, torch, DuckDB and whoever takes Arrow.
"""

from __future__ import annotations

from . import errors
from ._facts import Column, Function, Table, functions, tables, verify
from ._native import version as _version
from ._plot import Plot
from ._result import Batch, Result
from ._store import Store, create, open, sample
from ._stream import Stream
from ._training import GraphStep, TrainingBatch, TrainingGraphs, TrainingRows
from .errors import Error

__version__: str = _version()

__all__ = [
    "Batch",
    "Column",
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
    "__version__",
    "create",
    "errors",
    "functions",
    "open",
    "sample",
    "tables",
    "verify",
]
