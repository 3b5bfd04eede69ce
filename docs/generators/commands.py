"""Pages of the commands, from their `--help`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache

from .markdown import code, fence, indented, inline, table

FOLDER = "reference/commands"

# Wide enough that `--help` never wraps a paragraph.
_WIDTH = "100000"
# With SQL, `--help` prints the options of `tsql` in full.
_QUERY = ("SELECT 1",)

_PRINT_HELPS = """
import json, os, sys
from tsql.__main__ import main
for words in json.load(sys.stdin):
    sys.argv = ["tsql", *words, "--help"]
    main()
    os.write(1, b"\\0")
"""

_HEADING = re.compile(r"^([A-Z][\w ]*):(?: (.*))?$")
_ENTRY = re.compile(r"^ {2,6}(?! )(\S.*?)(?: {2,}(\S.*))?$")
_FACT = re.compile(r" ?\[(default|env|possible values): ([^\]]*)\]")
_FACT_TITLES = {"default": "Default", "env": "Environment variable", "possible values": "Values"}


@dataclass
class Entry:
    """An option, an argument or a subcommand with its text."""

    term: str
    lines: list[str] = field(default_factory=list)

    @property
    def paragraphs(self) -> list[str]:
        """The text of the entry; the lines of a list stay lines."""
        text = "\n".join(line.strip() for line in self.lines).strip()
        return [paragraph for paragraph in re.split(r"\n{2,}", text) if paragraph]

    @property
    def summary(self) -> str:
        """The first paragraph."""
        return self.paragraphs[0] if self.lines else ""


@dataclass
class Help:
    """Output of `--help` of a command."""

    summary: str
    description: list[str]
    usage: list[str]
    sections: dict[str, list[Entry]]
    """Entries by heading: `Arguments`, `Commands`, `Options` and others."""
    examples: list[str]


def help_texts(commands: list[tuple[str, ...]]) -> list[str]:
    """Returns the output of `tsql WORDS --help` for each command, without line breaks in its paragraphs."""
    environment = {**os.environ, "COLUMNS": _WIDTH}
    process = [sys.executable, "-c", _PRINT_HELPS]
    # One process for all: it loads the package once.
    done = subprocess.run(
        process, input=json.dumps(commands), capture_output=True, text=True, check=True, env=environment
    )
    return [text.strip("\n") for text in done.stdout.split("\0")[:-1]]


def parse_help(text: str) -> Help:
    """Parses the output of `--help`."""
    head, _, rest = text.partition("\nUsage: ")
    if not rest:
        raise ValueError(f"`--help` without a usage line: {text[:80]}")
    summary, *description = re.split(r"\n{2,}", head.strip())
    parsed = Help(summary, description, [], {}, [])
    heading = "Usage"
    for line in f"Usage: {rest}".split("\n"):
        if match := _HEADING.match(line):
            heading = match.group(1)
            if heading == "Usage":
                parsed.usage.append(match.group(2))
            elif heading != "Examples":
                parsed.sections[heading] = []
        elif heading == "Usage" and line.strip():
            parsed.usage.append(line.strip())
        elif heading == "Examples" and (line.startswith("  ") or not line):
            parsed.examples.append(line[2:])
        elif line and not line.startswith(" "):
            heading = "Usage" if not parsed.sections else "Epilogue"
        elif heading in parsed.sections:
            _add(parsed.sections[heading], line)
    return parsed


def _add(entries: list[Entry], line: str) -> None:
    """Adds a line of a section: the beginning of an entry, or a line of its text."""
    match = _ENTRY.match(line)
    if match is None:
        if entries:
            entries[-1].lines.append(line)
        return
    entries.append(Entry(match.group(1), [match.group(2)] if match.group(2) else []))


def parse_groups(text: str) -> dict[str, list[str]]:
    """Returns the names of the commands by group, from the output of `tsql --help`."""
    listed = re.search(r"^Commands:\n((?:  .*\n)*)", text, re.MULTILINE)
    lines = listed.group(1).splitlines() if listed else []
    matches = [re.match(r"  (.+?) {2,}(.+)", line) for line in lines]
    if not matches or None in matches:
        raise ValueError("`tsql --help` does not list commands by group")
    groups = {match.group(1): match.group(2).split() for match in matches if match}
    return {group: [name for name in names if name != "help"] for group, names in groups.items()}


@cache
def groups() -> dict[str, list[str]]:
    """The names of the commands by group."""
    return parse_groups(*help_texts([()]))


@cache
def all_helps() -> dict[tuple[str, ...], Help]:
    """The help of each command and subcommand by its words, parents first; `()` is `tsql` itself."""
    helps: dict[tuple[str, ...], Help] = {}
    level = [_QUERY, *((name,) for names in groups().values() for name in names)]
    while level:
        found = dict(zip(level, map(parse_help, help_texts(level)), strict=True))
        helps |= found
        level = [
            (*words, entry.term)
            for words, one in found.items()
            for entry in one.sections.get("Commands", [])
            if entry.term != "help" and words != _QUERY
        ]
    helps[()] = helps.pop(_QUERY)
    return helps


def shared_sections() -> dict[str, list[Entry]]:
    """The sections of options that all commands have."""
    of_queries = ("Arguments", "Commands", "Options")
    return {name: entries for name, entries in all_helps()[()].sections.items() if name not in of_queries}


def pages() -> dict[str, str]:
    """Returns the Markdown of all pages by path."""
    found = {f"{FOLDER}/index.md": _index()}
    for names in groups().values():
        found |= {f"{FOLDER}/{name}.md": _page(name) for name in names}
    return found


def nav() -> list[object]:
    """Returns the navigation: the index, then the pages by group."""
    by_group = [
        {group: [{name: f"{FOLDER}/{name}.md"} for name in names]} for group, names in groups().items() if names
    ]
    return [f"{FOLDER}/index.md", *by_group]


def _index() -> str:
    one = all_helps()[()]
    parts = [
        "# Commands",
        "`tsql --help` lists the commands. `tsql COMMAND --help` prints the text of these pages.",
        "[Command line](../command-line.md) describes exit codes, errors and the choice of the store.",
    ]
    for group, names in groups().items():
        rows = ([f"[`tsql {name}`]({name}.md)", inline(all_helps()[(name,)].summary)] for name in names)
        parts += [f"## {group}", table(["Command", "Description"], rows)]
    parts += ["## Run SQL", "`tsql` without a command runs a query. Without a query, it opens the shell on a terminal."]
    parts += _body(one, "tsql", skipped=["Commands", *shared_sections()])
    parts += ["## Options of all commands", "Each command has these options, too."]
    for name, entries in shared_sections().items():
        parts += [f"### {name}", *_definitions(entries, "all")]
    return "\n\n".join(parts)


def _page(name: str) -> str:
    parts = _sections((name,))
    parts.append("[Options of all commands](index.md#options-of-all-commands) select the store, its version and limits.")
    return "\n\n".join(parts)


def _sections(words: tuple[str, ...]) -> list[str]:
    """A command, then its subcommands as sections below it."""
    one = all_helps()[words]
    parts = [f"{'#' * len(words)} tsql {' '.join(words)}", inline(f"{one.summary.rstrip('.')}.")]
    parts += [inline(paragraph) for paragraph in one.description]
    parts += _body(one, "-".join(words), skipped=list(shared_sections()))
    below = [(*words, entry.term) for entry in one.sections.get("Commands", []) if entry.term != "help"]
    return parts + [part for subcommand in below for part in _sections(subcommand)]


def _body(one: Help, anchor: str, skipped: list[str]) -> list[str]:
    """Usage, subcommands, arguments, options and examples of a command."""
    parts = [fence("text", "\n".join(one.usage))]
    for heading, entries in one.sections.items():
        if heading in skipped:
            continue
        shown = [entry for entry in entries if entry.term not in ("help", "-h, --help", "-V, --version")]
        if heading == "Commands":
            rows = ([f"[`{entry.term}`](#tsql-{anchor}-{entry.term})", inline(entry.summary)] for entry in shown)
            parts.append(table(["Subcommand", "Description"], rows))
        elif shown:
            parts += [f"**{heading}**", *_definitions(shown, anchor)]
    if examples := "\n".join(one.examples).strip():
        lines = [line if line.startswith(" ") or not line else f"$ {line}" for line in examples.split("\n")]
        parts += ["**Examples**", fence("console", "\n".join(lines))]
    return parts


def _definitions(entries: list[Entry], anchor: str) -> list[str]:
    return [_definition(entry, anchor) for entry in entries]


def _definition(entry: Entry, anchor: str) -> str:
    """An item of a definition list; the id of an option is `COMMAND--OPTION`."""
    name = re.search(r"--[a-z-]+", entry.term)
    key = f"{anchor}{name.group()}" if name else f"{anchor}-{re.sub(r'[^a-z]+', '', entry.term.lower())}"
    content = []
    for paragraph in entry.paragraphs:
        first, *items = paragraph.split("\n")
        if items and all(item.startswith("- ") for item in items):
            content.append(f"{inline(first)}\n\n" + "\n".join(_value(item) for item in items))
            continue
        facts = _FACT.findall(paragraph)
        if text := _FACT.sub("", paragraph).strip():
            content.append(inline(text))
        content += [f"{_FACT_TITLES[kind]}: {_fact(kind, value)}" for kind, value in facts]
    body = indented("\n\n".join(content)).strip()
    return f"[{code(entry.term)}](#{key}){{ #{key} .option }}\n:   {body}"


def _value(item: str) -> str:
    name, _, meaning = item.removeprefix("- ").partition(":")
    return f"- `{name}`: {inline(meaning.strip())}" if meaning else f"- `{name}`"


def _fact(kind: str, value: str) -> str:
    if kind == "possible values":
        return ", ".join(code(one) for one in value.split(", "))
    is_literal = " " not in value and "`" not in value
    return code(value) if is_literal else inline(value)
