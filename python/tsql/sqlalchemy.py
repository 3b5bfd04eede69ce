"""Dialect of SQLAlchemy: `create_engine("tsql:///PATH")`. Importing this module registers it and imports SQLAlchemy.

An installed package is found without the import.

    tsql:///logs/store            relative path
    tsql:////data/store           absolute path
    tsql:///s3://BUCKET/PATH      bucket
    tsql:///sample:               built-in sample
    tsql://                       nearest store in the working directory or above
    tsql:///logs/store?at=v1.0    options of `tsql.connect`: `at`, `memory_limit`, `threads`, `workers`

A store is read-only: INSERT, UPDATE, DELETE and `create_all` are errors.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from sqlalchemy import types
from sqlalchemy.dialects import registry
from sqlalchemy.engine import default
from sqlalchemy.exc import ArgumentError, NoSuchTableError
from sqlalchemy.sql import compiler

from . import _catalog, dbapi

if TYPE_CHECKING:
    from sqlalchemy.engine.interfaces import (
        DBAPIModule,
        ReflectedColumn,
        ReflectedPrimaryKeyConstraint,
        ReflectedTableComment,
    )

__all__ = ["Compiler", "Dialect", "TypeCompiler"]

_SCHEMA = "public"
_OPTIONS = ("at", "memory_limit", "threads", "workers")
_TYPES: dict[str, Any] = {
    "text": types.Text,
    "Utf8": types.Text,
    "LargeUtf8": types.Text,
    "Utf8View": types.Text,
    "Boolean": types.Boolean,
    "Int8": types.SmallInteger,
    "Int16": types.SmallInteger,
    "Int32": types.Integer,
    "Int64": types.BigInteger,
    "UInt8": types.SmallInteger,
    "UInt16": types.Integer,
    "UInt32": types.BigInteger,
    "UInt64": types.BigInteger,
    "Float16": types.REAL,
    "Float32": types.REAL,
    "Float64": types.Double,
    "Date32": types.Date,
    "Date64": types.DateTime,
    "Binary": types.LargeBinary,
    "LargeBinary": types.LargeBinary,
    "BinaryView": types.LargeBinary,
}


@cache
def _all_tables() -> Mapping[str, _catalog.Table]:
    """Returns the tables and views, which all stores have in common."""
    return _catalog.tables()


def _type(name: str) -> types.TypeEngine[Any]:
    """Returns the type of SQLAlchemy for the name of an Arrow type."""
    if name in _TYPES:
        found: types.TypeEngine[Any] = _TYPES[name]()
        return found
    if name.startswith(("Time32(", "Time64(")):
        return types.Time()
    if name.startswith("Timestamp("):
        return types.DateTime(timezone="," in name)
    if (decimal := re.fullmatch(r"Decimal\d+\((\d+), (\d+)\)", name)) is not None:
        return types.Numeric(int(decimal[1]), int(decimal[2]))
    if (inner := re.fullmatch(r"(?:Large)?List\((.*)\)", name)) is not None:
        return types.ARRAY(_type(inner[1]))
    return types.NullType()


class Compiler(compiler.SQLCompiler):
    """SQL text of statements: the SQL standard, with the operators of PostgreSQL."""

    def limit_clause(self, select: Any, **options: Any) -> str:
        """Returns LIMIT and OFFSET. An OFFSET needs no LIMIT."""
        text = ""
        if select._limit_clause is not None:
            text += "\n LIMIT " + self.process(select._limit_clause, **options)
        if select._offset_clause is not None:
            text += "\n OFFSET " + self.process(select._offset_clause, **options)
        return text

    def visit_truediv_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a division of floating-point numbers, because `/` truncates a quotient of integers."""
        left, right = self.process(binary.left, **options), self.process(binary.right, **options)
        return f"CAST({left} AS DOUBLE) / {right}"

    def visit_like_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a comparison with a pattern."""
        return self._like(binary, "LIKE", **options)

    def visit_not_like_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a negated comparison with a pattern."""
        return self._like(binary, "NOT LIKE", **options)

    def visit_ilike_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a comparison with a pattern, without case."""
        return self._like(binary, "ILIKE", **options)

    def visit_not_ilike_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a negated comparison with a pattern, without case."""
        return self._like(binary, "NOT ILIKE", **options)

    def _like(self, binary: Any, operator: str, **options: Any) -> str:
        """Returns a comparison. Patterns escape with a backslash, so another escape character is replaced."""
        left, pattern = self.process(binary.left, **options), self.process(binary.right, **options)
        escape = binary.modifiers.get("escape")
        if escape not in (None, "\\"):
            for old, new in (("\\", "\\\\"), (2 * escape, "\x01"), (escape, "\\"), ("\x01", escape)):
                old, new = (self.render_literal_value(text, types.STRINGTYPE) for text in (old, new))
                pattern = f"replace({pattern}, {old}, {new})"
        return f"{left} {operator} {pattern}"

    def visit_getitem_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns an element of a list."""
        return f"{self.process(binary.left, **options)}[{self.process(binary.right, **options)}]"

    def visit_regexp_match_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a search for a regular expression."""
        text: str = self._generate_generic_binary(binary, " ~ ", **options)
        return text

    def visit_not_regexp_match_op_binary(self, binary: Any, operator: Any, **options: Any) -> str:
        """Returns a negated search for a regular expression."""
        text: str = self._generate_generic_binary(binary, " !~ ", **options)
        return text

    def visit_empty_set_expr(self, element_types: Sequence[Any], **options: Any) -> str:
        """Returns a query without rows, for an empty list."""
        return f"SELECT {', '.join('NULL' for _ in element_types or [None])} WHERE 1 = 0"


class TypeCompiler(compiler.GenericTypeCompiler):
    """Names of types in CAST."""

    def visit_FLOAT(self, type_: Any, **options: Any) -> str:
        """Returns the type of 64 bits: FLOAT has 32 bits."""
        return "DOUBLE"

    def visit_DOUBLE(self, type_: Any, **options: Any) -> str:
        """Returns the type of 64 bits."""
        return "DOUBLE"

    def visit_DATETIME(self, type_: Any, **options: Any) -> str:
        """Returns the type of times, with or without a time zone."""
        return "TIMESTAMP WITH TIME ZONE" if type_.timezone else "TIMESTAMP"

    def visit_BLOB(self, type_: Any, **options: Any) -> str:
        """Returns the type of bytes."""
        return "BYTEA"

    def visit_ARRAY(self, type_: Any, **options: Any) -> str:
        """Returns the type of lists."""
        return f"{self.process(type_.item_type, **options)}[]"


class Dialect(default.DefaultDialect):
    """Dialect `tsql`."""

    name = "tsql"
    driver = "dbapi"
    default_paramstyle = "qmark"
    statement_compiler = Compiler
    type_compiler_cls = TypeCompiler
    default_schema_name = _SCHEMA
    supports_statement_cache = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_alter = False
    supports_comments = True
    supports_sane_rowcount = False
    supports_sane_multi_rowcount = False
    postfetch_lastrowid = False
    returns_native_bytes = True

    @classmethod
    def import_dbapi(cls) -> DBAPIModule:
        """Returns the module of DB-API 2.0."""
        return cast("DBAPIModule", dbapi)

    def create_connect_args(self, url: Any) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of `tsql.connect` for a URL."""
        if url.host:
            hint = f"tsql:///{url.host}/{url.database or ''} for a relative path, tsql:////PATH for an absolute one"
            raise ArgumentError(f"`{url.host}` is a host, expected a path after three slashes\nhint: {hint}")
        options: dict[str, Any] = dict(url.query)
        for name in options:
            if name not in _OPTIONS:
                raise ArgumentError(f"no option named `{name}`\nhint: there are {', '.join(_OPTIONS)}")
            if not isinstance(options[name], str):
                raise ArgumentError(f"the option `{name}` has several values, expected one")
        if "threads" in options:
            try:
                options["threads"] = int(options["threads"])
            except ValueError:
                raise ArgumentError(f"`{options['threads']}` is not a number of threads") from None
        return [url.database or None], options

    def initialize(self, connection: Any) -> None:
        """Sets the dialect that JupySQL writes: it would take the name `tsql` for Transact-SQL of SQL Server."""
        jupysql = sys.modules.get("sql.connection.connection")
        getattr(jupysql, "DIALECT_NAME_SQLALCHEMY_TO_SQLGLOT_MAPPING", {}).setdefault(self.name, "duckdb")

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Does nothing: a store has no transactions."""

    def get_schema_names(self, connection: Any, **options: Any) -> list[str]:
        """Returns the only schema."""
        return [_SCHEMA]

    def has_schema(self, connection: Any, schema_name: str, **options: Any) -> bool:
        """Returns whether there is a schema of this name."""
        return schema_name == _SCHEMA

    def get_table_names(self, connection: Any, schema: str | None = None, **options: Any) -> list[str]:
        """Returns the names of the tables."""
        return [name for name, table in self._tables(schema).items() if not table.is_view]

    def get_view_names(self, connection: Any, schema: str | None = None, **options: Any) -> list[str]:
        """Returns the names of the views."""
        return [name for name, table in self._tables(schema).items() if table.is_view]

    def has_table(self, connection: Any, table_name: str, schema: str | None = None, **options: Any) -> bool:
        """Returns whether there is a table or view of this name."""
        return table_name in self._tables(schema)

    def get_columns(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[ReflectedColumn]:
        """Returns the columns of a table or view."""
        return [
            {
                "name": column.name,
                "type": _type(column.type),
                "nullable": column.is_nullable,
                "default": None,
                "comment": column.doc or None,
            }
            for column in self._table(table_name, schema).columns
        ]

    def get_table_comment(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> ReflectedTableComment:
        """Returns the description of a table or view."""
        return {"text": self._table(table_name, schema).doc}

    def get_pk_constraint(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> ReflectedPrimaryKeyConstraint:
        """Returns no columns: a store declares no primary keys."""
        self._table(table_name, schema)
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Returns nothing: a store declares no foreign keys."""
        return self._nothing(table_name, schema)

    def get_indexes(self, connection: Any, table_name: str, schema: str | None = None, **options: Any) -> list[Any]:
        """Returns nothing: a store has no indexes."""
        return self._nothing(table_name, schema)

    def get_unique_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Returns nothing: a store declares no constraints."""
        return self._nothing(table_name, schema)

    def get_check_constraints(
        self, connection: Any, table_name: str, schema: str | None = None, **options: Any
    ) -> list[Any]:
        """Returns nothing: a store declares no constraints."""
        return self._nothing(table_name, schema)

    def _nothing(self, name: str, schema: str | None) -> list[Any]:
        self._table(name, schema)
        return []

    def _tables(self, schema: str | None) -> Mapping[str, _catalog.Table]:
        return _all_tables() if schema in (None, _SCHEMA) else {}

    def _table(self, name: str, schema: str | None) -> _catalog.Table:
        tables = self._tables(schema)
        if name not in tables:
            raise NoSuchTableError(name)
        return tables[name]


registry.register("tsql", __name__, "Dialect")
