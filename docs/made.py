"""Pages that are made from the code: what the command, the tables, the functions and the questions say of themselves, and notebooks.

A hook of mkdocs. It asks the package `tsql`, so what a page says is what this build does.
"""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import tsql

DOCS = Path(__file__).parent


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages."""
    from mkdocs.structure.files import File

    pages = {
        "reference/command.md": command(),
        "reference/tables.md": tables(),
        "reference/functions.md": functions(),
        "reference/questions.md": questions(),
    }
    for notebook in sorted((DOCS / "notebooks").glob("*.ipynb")):
        pages[f"notebooks/{notebook.stem}.md"] = shown(json.loads(notebook.read_text()))
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Files of the checkout are no pages: their names stay, as text."""
    return re.sub(r"\[([^\]]*)\]\((?:\.\./)+(?:benches/README|CONTRIBUTING|README)\.md[^)]*\)", r"\1", markdown)


def help_of(words: tuple[str, ...]) -> str:
    """What `--help` says."""
    asked = [sys.executable, "-m", "tsql", *words, "--help"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.rstrip()


def below(text: str) -> list[str]:
    """Names of the commands that a help lists."""
    listed = re.search(r"^Commands:\n((?:  .*\n|\n)*)", text + "\n", re.MULTILINE)
    names = re.findall(r"^  ([a-z][a-z-]*)", listed.group(1), re.MULTILINE) if listed else []
    return [name for name in names if name != "help"]


def command() -> str:
    """All commands, with what `--help` says of each."""
    parts = ["# Command", "What `--help` says, of each command."]
    with ThreadPoolExecutor(4) as pool:
        level: list[tuple[str, ...]] = [()]
        found: dict[tuple[str, ...], str] = {}
        while level:
            told = dict(zip(level, pool.map(help_of, level), strict=True))
            found |= told
            level = [(*words, name) for words, text in told.items() for name in below(text)]
    for words in sorted(found):
        parts += [f"## tsql {' '.join(words)}".rstrip(), f"```text\n{found[words]}\n```"]
    return "\n\n".join(parts)


def cell(text: str | None) -> str:
    """Text in a table."""
    return (text or "").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def tables() -> str:
    """All tables and views, column by column."""
    parts = ["# Tables", "What every store has. `tsql describe TABLE` and `tsql.tables()` say the same."]
    for table in tsql.tables().values():
        lines = ["| column | type | unit | meaning |", "|---|---|---|---|"]
        lines += [f"| `{one.name}` | {cell(one.type)} | {cell(one.unit)} | {cell(one.doc)} |" for one in table.columns]
        kind = " (a view)" if table.is_view else ""
        parts += [f"## {table.name}", f"{cell(table.doc)}{kind}", "\n".join(lines)]
    return "\n\n".join(parts)


def functions() -> str:
    """The functions of SQL that are tsql's own, then the names of the others."""
    all_functions = tsql.functions().values()
    parts = ["# SQL functions", "`tsql functions NAME` and `tsql.functions(NAME)` say the same, and tell of all others."]
    for one in (one for one in all_functions if one.is_ours):
        arguments = "\n".join(f"- `{name}`: {cell(of)}" for name, of in one.arguments)
        parts += [f"## {one.name}", f"`{one.call}`", cell(one.doc), arguments, f"```sql\n{one.example}\n```"]
    others = ", ".join(f"`{one.name}`" for one in all_functions if not one.is_ours)
    return "\n\n".join([*parts, "## Functions of DataFusion", others])


def questions() -> str:
    """The ready-made questions."""
    parts = ["# Questions", "`tsql queries NAME` asks them, in Python `store.questions.NAME()`."]
    for one in tsql.sample().questions.values():
        given = "\n".join(f"- {line}" for line in (one.__doc__ or "").split("\n")[2:])
        parts += [f"## {one.name}", one.title, given, f"```sql\n{one.sql.strip()}\n```"]
    return "\n\n".join(parts)


def shown(notebook: dict[str, Any]) -> str:
    """A notebook as a page, with what it printed and drew."""
    parts = []
    for one in notebook["cells"]:
        source = "".join(one["source"])
        if one["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in one.get("outputs", []):
            data = output.get("data", {})
            text = output.get("text") or data.get("text/plain", "")
            if "image/png" in data:
                picture = base64.b64encode(base64.b64decode(data["image/png"])).decode()
                parts.append(f"![What the cell above draws](data:image/png;base64,{picture})")
            elif "text/html" in data:
                parts.append("".join(data["text/html"]))
            elif text:
                parts.append(f"```text\n{''.join(text).rstrip()}\n```")
    return "\n\n".join(parts)
