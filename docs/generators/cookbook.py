"""The cookbook: the built-in queries by theme, with their results over the sample store."""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import tsql
from tsql.errors import EmptyError

from .markdown import code, fence, indented, inline, table

FOLDER = "cookbook"

_CHECKOUT = Path(__file__).parents[2]
_ROWS = 5
_CELL_LENGTH = 40
_HEADER = re.compile(r"-- (platform|parameter|file|needs) (.*?) : (.*)")


@dataclass(frozen=True)
class Theme:
    """A page of the cookbook."""

    page: str
    title: str
    text: str
    queries: tuple[str, ...]
    data: str = "sample"
    """`sample`, `graphnet` (the folder `data/graphnet`) or `none`."""


THEMES = (
    Theme(
        "platforms",
        "Platforms and coverage",
        "These queries list the contents of a store by platform and by source, and the failures of measurements.",
        (
            "platform-summary",
            "platform-coverage",
            "missing-programs",
            "failures-by-kind",
            "time-outs",
            "sources",
            "rejected-lines",
        ),
    ),
    Theme(
        "best-programs",
        "Best programs",
        "These queries rank the programs and sketches of each graph by their measured runtime.",
        (
            "best-program-per-graph",
            "top-k-per-graph",
            "best-sketch-per-graph",
            "sketch-distribution",
            "program-spread",
            "widest-tasks",
            "best-by-month",
            "best-per-kernel",
            "near-best",
        ),
    ),
    Theme(
        "search",
        "Search convergence",
        "These queries show the progress of a search: the best runtime after each trial. A trial is a line of a log.",
        ("best-so-far", "search-convergence", "search-curves", "speed-over-time"),
    ),
    Theme(
        "search-spaces",
        "Search spaces",
        "These queries look at the configurations of autotuners: what was tried of a space, and what decides the time.",
        ("search-spaces", "random-search", "parameter-importance", "pareto-time-energy"),
    ),
    Theme(
        "noise",
        "Repeatability and noise",
        "These queries quantify the noise of timings: between the repeats of a record, and between records of a program.",
        (
            "repeat-statistics",
            "noise-by-runtime",
            "noisiest-records",
            "noise-floor",
            "duplicate-programs",
            "source-regressions",
            "recent-changes",
        ),
    ),
    Theme(
        "transfer",
        "Transfer between platforms",
        "These queries compare two platforms: runtimes of the same programs, rankings, and the cost of a transfer.",
        ("cross-platform-pairs", "platforms-compared", "rank-correlation", "best-program-elsewhere"),
    ),
    Theme(
        "roofline",
        "Roofline and throughput",
        "These queries relate the runtime of tasks to their operations and bytes. The operations of TenSet's tasks come "
        "from its `network_info` files, which are pickles of the published dataset. The sample store contains logs only, "
        "so these queries have no result here. [The TenSet tutorial](../tutorials/tenset.md) ingests published files.",
        ("task-gflops", "gflops-by-operator", "gflops-beside-peak", "roofline", "task-bounds"),
    ),
    Theme(
        "networks",
        "Networks",
        "These queries combine the tasks of a network. The networks of TenSet come from its `network_info` files. The "
        "sample store contains logs only, so these queries have no result here. "
        "[The TenSet tutorial](../tutorials/tenset.md) ingests published files.",
        ("network-latency", "hold-out-networks"),
    ),
    Theme(
        "targets",
        "Targets for learning",
        "These queries compute the values that cost models learn. TenSet and MetaSchedule call them labels.",
        ("label-distribution", "tenset-labels", "tenset-labels-valid", "metaschedule-labels"),
    ),
    Theme(
        "graphnet",
        "GraphNet",
        "These queries read GraphNet's samples and benchmark logs, which the sample store does not contain. The results "
        "come from the folder `data/graphnet` of the checkout. Its numbers are invented. "
        "[The tutorial](../tutorials/graphnet.md) ingests published data.",
        (
            "graphnet-scores",
            "graphnet-score-curves",
            "graphnet-speedups",
            "graphnet-status",
            "graphnet-regressions",
            "graphnet-ops",
            "graphnet-conv-batchnorm",
            "graphnet-parameters",
            "graphnet-duplicates",
        ),
        data="graphnet",
    ),
    Theme(
        "tpugraphs",
        "TpuGraphs",
        "These queries read the npz files of TpuGraphs, which the sample store does not contain. "
        "[The tutorial](../tutorials/tpugraphs.md) ingests published files.",
        (
            "tpugraphs-collections",
            "tpugraphs-spread",
            "tpugraphs-layout-codes",
            "tpugraphs-noise",
            "tpugraphs-ops",
            "tpugraphs-bounds",
            "tpugraphs-score",
        ),
        data="none",
    ),
)


@dataclass(frozen=True)
class Header:
    """The comment lines at the beginning of a query."""

    parameters: tuple[tuple[str, str, str], ...]
    """Name, default and meaning, as Markdown."""
    needs: tuple[str, ...]
    files: tuple[str, ...]
    plot: dict[str, str]


@dataclass(frozen=True)
class Shown:
    """The result of a query: Markdown, and the plot as SVG."""

    text: str
    plot: str | None = None


def parse_header(sql: str) -> Header:
    """Parses the comment lines at the beginning of a query."""
    parameters, needs, files, plot = [], [], [], {}
    for line in sql.split("\n"):
        if not line.startswith("-- "):
            break
        if line.startswith("-- plot: "):
            plot = dict(word.split("=", 1) for word in shlex.split(line.removeprefix("-- plot: ")))
        if match := _HEADER.fullmatch(line):
            kind, name, meaning = match.groups()
            name, _, default = name.partition(" = ")
            if kind == "needs":
                needs.append(meaning)
                continue
            if kind == "file":
                files.append(name)
            shown = {"platform": "from the store", "file": "required"}.get(kind) or code(default)
            parameters.append((code(name), shown, inline(meaning)))
    return Header(tuple(parameters), tuple(needs), tuple(files), plot)


def pages() -> dict[str, str]:
    """Returns the Markdown of all pages, and the SVG of all plots, by path."""
    sample = tsql.sample()
    missing = set(sample.queries) ^ {name for theme in THEMES for name in theme.queries}
    if missing:
        raise ValueError(f"docs/generators/cookbook.py lists other queries than the package: {sorted(missing)}")
    found = {f"{FOLDER}/index.md": _index(sample)}
    for theme in THEMES:
        titles = {"graphnet": "Needs GraphNet data", "none": "Needs TpuGraphs data"}
        text = _note(titles[theme.data], theme.text) if theme.data in titles else theme.text
        parts = [f"# {theme.title}", text]
        for name in theme.queries:
            shown = _shown(theme, name, sample)
            parts += _section(sample.queries[name], shown)
            if shown.plot is not None:
                found[f"{FOLDER}/plots/{name}.svg"] = shown.plot
        found[f"{FOLDER}/{theme.page}.md"] = "\n\n".join(parts)
    return found


def nav() -> list[object]:
    """Returns the navigation: the index, then the themes."""
    return [f"{FOLDER}/index.md", *({theme.title: f"{FOLDER}/{theme.page}.md"} for theme in THEMES)]


def _index(sample: tsql.Store) -> str:
    parts = [
        "# Cookbook",
        f"tsql contains {len(sample.queries)} built-in queries. These pages show the SQL of each one, with its result "
        "over the built-in sample store. [Run built-in queries](../how-to/built-in-queries.md) describes parameters, "
        "plots and your own queries. `tsql --sample queries NAME` prints the result of these pages.",
        fence("console", "$ tsql queries top-k-per-graph k=1\n$ tsql plot @best-so-far -o best-so-far.svg"),
        fence("python", "store.queries.top_k_per_graph(k=1).df()"),
    ]
    for theme in THEMES:
        rows = ([f"[`{name}`]({theme.page}.md#{name})", inline(sample.queries[name].title)] for name in theme.queries)
        parts += [f"## {theme.title}", table(["Query", "Result"], rows)]
    return "\n\n".join(parts)


def _section(query: Any, shown: Shown) -> list[str]:
    header = parse_header(query.sql)
    parts = [f"## {query.name}", inline(query.title)]
    if header.parameters:
        parts.append(table(["Parameter", "Default", "Meaning"], header.parameters))
    if shown.plot is not None:
        parts.append(f"![Plot of {query.name}](plots/{query.name}.svg)")
    if shown.text:
        parts.append(shown.text)
    words = "".join(f" {name}=FILE" for name in header.files)
    commands = [f"$ tsql queries {query.name}{words}"]
    if header.plot:
        commands.append(f"$ tsql plot @{query.name} -o {query.name}.svg")
    sql = indented(fence("sql", query.sql))
    return [*parts, fence("console", "\n".join(commands)), f'??? example "SQL"\n\n{sql}']


def _shown(theme: Theme, name: str, sample: tsql.Store) -> Shown:
    """The result over the sample store, or over the data of the theme."""
    if theme.data == "none":
        return Shown("")
    query = (_graphnet() if theme.data == "graphnet" else sample).queries[name]
    try:
        result = query()
    except EmptyError:
        needs = inline("; ".join(parse_header(query.sql).needs))
        return Shown(_note("No rows in the sample store", f"This query needs {needs}."))
    if not len(result):
        return Shown("The result over the sample store is empty.")
    return _result(query, result)


def _note(title: str, text: str) -> str:
    return f'!!! note "{title}"\n\n{indented(text)}'


@cache
def _graphnet() -> tsql.Store:
    """A store with the GraphNet data of the checkout; its paths are relative."""
    store = tsql.create("memory:")
    with chdir(_CHECKOUT):
        store.ingest("data/graphnet")
    return store


def _result(query: Any, result: tsql.Result) -> Shown:
    count, rows = len(result), result.head(_ROWS)
    names = [column.name for column in result.columns]
    numbers = [all(isinstance(row[at], (int, float, type(None))) for row in rows) for at in range(len(names))]
    align = ["--:" if is_number else "---" for is_number in numbers]
    cells = ([_cell(value) for value in row] for row in rows)
    plural = "" if count == 1 else "s"
    caption = f"First {len(rows)} of {count:,} rows:" if count > len(rows) else f"{count} row{plural}:"
    text = f'{caption}\n\n<div class="result" markdown>\n\n{table(names, cells, align)}\n\n</div>'
    plot = parse_header(query.sql).plot
    return Shown(text, result.plot(**plot).svg() if plot else None)


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        is_long = 1e5 <= abs(value) < 1e15
        return f"{value:.1f}".removesuffix(".0") if is_long else f"{value:.6g}"
    text = " ".join(str(value).split())
    return inline(text if len(text) <= _CELL_LENGTH else f"{text[: _CELL_LENGTH - 1]}…")
