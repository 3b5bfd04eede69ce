"""Pages of tables and functions, from the package."""

from __future__ import annotations

import tsql

from .markdown import code, fence, indented, inline, table


def pages() -> dict[str, str]:
    """Returns the Markdown of the pages by path."""
    return {"reference/tables.md": _tables(), "reference/functions.md": _functions()}


def _tables() -> str:
    parts = [
        "# Tables",
        "Every store has these tables and views. A view is computed by a query, and tsql alone reads it. "
        "`tsql describe TABLE` and Python's `tsql.tables()` return the same text.",
    ]
    all_tables = tsql.tables().values()
    rows = ([f"[`{one.name}`](#{one.name})", inline(one.doc.split(". ")[0].rstrip(".:"))] for one in all_tables)
    parts.append(table(["Table", "Description"], rows))
    for one in all_tables:
        rows = ([code(column.name), column.type, column.unit or "", inline(column.doc)] for column in one.columns)
        kind = " (a view)" if one.is_view else ""
        parts += [f"## {one.name}", f"{inline(one.doc)}{kind}", table(["Column", "Type", "Unit", "Meaning"], rows)]
    return "\n\n".join(parts)


def _functions() -> str:
    functions = tsql.functions().values()
    parts = [
        "# SQL functions",
        "tsql adds these functions to those of DataFusion. `tsql describe NAME` and Python's `tsql.functions(NAME)` "
        "return the same text, also for the functions of DataFusion.",
    ]
    for one in (one for one in functions if one.is_tsql):
        parts += [f"## {one.name}", fence("sql", one.call), inline(one.doc)]
        if one.arguments:
            parts.append(table(["Argument", "Meaning"], ([code(name), inline(of)] for name, of in one.arguments)))
        parts += ["Example:", fence("{ .sql .wrap }", one.example)]
        for elements in one.elements:
            names = indented(", ".join(code(name) for name in elements.names))
            title = f"Elements for {elements.argument_value}" if elements.argument_value else "Elements"
            parts.append(f'??? info "{title} ({len(elements.names)})"\n\n{names}')
    others = ", ".join(code(one.name) for one in functions if not one.is_tsql)
    return "\n\n".join([*parts, "## Functions of DataFusion", others])
