"""Translates commands and options in messages to Python calls and arguments.

The library writes messages for the command line. A program in Python has calls in place of commands.
"""

from __future__ import annotations

import re

_CALLS = {
    "append": "store.append({stream})",
    "check": "store.check()",
    "check --repair": "store.repair()",
    "compare": "store.compare({0}, {1})",
    "copy": "store.copy_to(...)",
    "correct": "store.correct({label})",
    "describe": "tsql.tables()[{0}]",
    "diff": "store.diff(...)",
    "export": "store.export({output})",
    "export databases": "store.export_databases({output})",
    "export files": "store.export({output})",
    "export hub": "store.export_hub({output})",
    "export lines": "store.export_lines({output})",
    "export submission": "store.write_submission({predictions}, {output})",
    "export training": "store.write_training_files({output})",
    "functions": "tsql.functions({0})",
    "gate": "store.measure_pair(...)",
    "history": "store.history()",
    "import features": "store.import_features({0}, {name})",
    "ingest": "store.ingest({0})",
    "init": "tsql.create({0})",
    "init --store": "tsql.create({0})",
    "measure": "store.measure({0})",
    "measure devices": "tsql.measure.devices()",
    "measure doctor": "tsql.measure.doctor()",
    "measure env": "tsql.measure.machine()",
    "measure exec": "store.measure_exec(...)",
    "measure pair": "store.measure_pair(...)",
    "measure repeat": "store.measure_repeat({where})",
    "measure resume": "store.resume_measured()",
    "measure run": "store.measure({0})",
    "measure template list": "tsql.measure.templates()",
    "measure template show": "tsql.measure.templates()[{0}]",
    "note": "store.note({0})",
    "note create": "store.note({0})",
    "note delete": "store.delete_note({0})",
    "note list": "store.notes",
    "note show": "store.notes",
    "optimize": "store.optimize()",
    "platform set": "store.set_platform({0})",
    "platform show": "store.platform_facts({0})",
    "platform unset": "store.unset_platform({0}, {1})",
    "plot": "store.plot({0})",
    "publish": "store.publish({0})",
    "queries": "store.queries[{0}]",
    "replay": "store.replay()",
    "report graphnet": "store.report_graphnet()",
    "report html": "store.report_html({output})",
    "restore": "store.restore({where})",
    "restore --all": 'store.restore("true", all=True)',
    "retract": "store.retract({where})",
    "score graphnet": 'store.score("graphnet", {0})',
    "score matrix": "store.score_matrix({model})",
    "score tenset": 'store.score("tenset", {0})',
    "score tlp": 'store.score("tlp", {0})',
    "score tpugraphs": 'store.score("tpugraphs", {0})',
    "split create": "store.create_split({0})",
    "split delete": "store.delete_split({0})",
    "split leaks": "store.split_leaks({0})",
    "split list": "store.splits",
    "split show": "store.parts_of_split({0})",
    "store probe": "tsql.probe({0})",
    "store views": "store.duckdb_views()",
    "subset create": "store.subset({0})",
    "subset delete": "store.delete_subset({0})",
    "subset show": "store.subset({0})",
    "tables": "tsql.tables()",
    "tag create": "store.tag({0})",
    "tag delete": "store.delete_tag({0})",
    "tag list": "store.tags",
    "tag show": "store.tags",
    "trend": "store.trend()",
    "ui": "store.ui()",
    "vacuum": "store.vacuum()",
    "verify": "tsql.verify({0})",
    "worker status": "tsql.workers({workers})",
}
"""Calls by command. `{0}` is the first argument, `{output}` the value of `--output`. A command without a call stays."""

_ARGUMENTS = {
    "append": {"every": "group_s", "rows": "group_lines"},
    "compare": {"of": "all", "change": "minimum_change", "fail-on-regression": "allowed_regression", "anchor": "anchors"},
    "export files": {"where": "samples"},
    "export hub": {"where": "samples"},
    "gate": {"budget": "budget_s", "change": "minimum_change"},
    "measure pair": {"budget": "budget_s", "change": "minimum_change"},
    "platform set": {
        "bandwidth": "bandwidth_bytes_per_s",
        "clock": "clock_hz",
        "memory": "memory_bytes",
        "peak-flops": "peak_flop_per_s",
    },
    "publish": {"dataset-version": "version"},
    "report graphnet": {"output": "folder", "tolerated": "mismatch_extended"},
    "score matrix": {"scoring": "dataset"},
    "trend": {"change": "minimum_change"},
}
"""Arguments of a call that differ from the options of its command."""

_OPTIONS = {
    "commit-every": "commit_s",
    "files": "file_format",
    "input-format": "format",
    "label": "labels",
    "model": "models",
    "param": "params",
    "policy": "policies",
    "unlisted": "force_unlisted",
}
"""Arguments that differ from their options in all calls. Others have `_` in place of `-`."""

_SWITCHES = frozenset(
    (
        "again",
        "all",
        "allow-files",
        "allow-missing",
        "dry-run",
        "force-unlisted",
        "keep-going",
        "overwrite",
        "replace",
        "skip-existing",
        "skip-null",
        "strict",
        "trust",
    )
)
"""Options without a value."""

_OPENING = {
    "at": "tsql.open(..., at={})",
    "memory-limit": "tsql.open(..., memory_limit={})",
    "store": "tsql.open({})",
    "threads": "tsql.open(..., threads={})",
    "workers": "tsql.open(..., workers={})",
}
"""Options of all commands, which are arguments of `tsql.open`."""

_WORDS = frozenset(
    ("arrow", "bar", "cold", "cut", "grid", "npz", "parquet", "random", "sampled", "slurm", "task", "valid", "warm")
)
"""Values in lower case. Other words in lower case after an option belong to the sentence."""

_OTHER_PROGRAMS = r"gpus|cpus|cpuset-cpus|cap-add|ulimit|jobs"

_SPAN = re.compile(r"`([^`]*)`")
_TOKEN = re.compile(r'"[^"]*"|\S+')
_VALUE_TEXT = r'"[^"]*"|[^\s`]*[^\s`),;:.]'
_FLAG = re.compile(rf"(?<![-\w/])--(?!{_OTHER_PROGRAMS})([a-z][a-z-]*)(?:([ =])({_VALUE_TEXT}))?")
_VALUE = re.compile(r'"|[A-Z0-9{]|[^\s]*[@/,=]')
_VARIABLE = re.compile(r" ?\(?or TSQL_(?:STORE|MEMORY_LIMIT|THREADS|TEMP_DIR|WORKERS)\)?")
_SHORT = re.compile(r"(?<![-\w`])-([xy])\b")


def in_python(message: str, kind: str = "") -> str:
    """Returns a message with Python calls in place of commands, and arguments in place of options.

    Commands are in backticks, or are a query. Options are in hints, or begin the message. Other text may be the user's,
    and stays.

    Args:
        message: Message for the command line.
        kind: Kind of the error.

    Returns:
        The message for Python.
    """
    fact, *hints = message.split("\nhint: ")
    fact = _SPAN.sub(_command, fact)
    if fact.startswith("--"):
        fact = _FLAG.sub(lambda flag: f"{argument_name(flag[1])}{flag[2] or ''}{flag[3] or ''}", fact, count=1)
    if kind == "no_store":
        hints = [re.sub(r"`tsql ingest [^`]*`", '`tsql.create("DIR")`', hint) for hint in hints]
    return "\nhint: ".join([fact, *map(_hint, hints)])


def argument_name(option: str, command: str = "") -> str:
    """Returns the argument of a call for an option of its command.

    Args:
        option: Option without `--`.
        command: The command; without it, the name that most calls have.

    Returns:
        Name of the argument.
    """
    own = _ARGUMENTS.get(command, {}).get(option)
    return own or _OPTIONS.get(option) or option.removeprefix("no-").replace("-", "_")


def call_of(command: str) -> str | None:
    """Returns the call of a command, with its positional arguments in braces; `None` if there is no call."""
    return _CALLS.get(command)


def _hint(hint: str) -> str:
    """Translates a hint: commands in backticks, queries, and options elsewhere."""
    hint = re.sub(r'(?<![`\w])tsql ("[^"]*")', r"`store.sql(\1)`", hint)
    hint = hint.replace("the shell (`tsql`) and `tsql -o FILE`", "`store.sql`").replace("same command", "same call")
    parts: list[str] = []
    end = 0
    for span in _SPAN.finditer(hint):
        flag = _FLAG.fullmatch(span[1])
        code = f"`{_option(flag).strip('`')}`" if flag else _command(span)
        parts += [_options(hint[end : span.start()]), code]
        end = span.end()
    return "".join([*parts, _options(hint[end:])])


def _options(text: str) -> str:
    """Translates options outside of backticks."""
    if "--" not in text:
        return text
    text = _VARIABLE.sub("", text)
    text = re.sub(r"--temp-dir \S+", "the environment variable TMPDIR", text)
    text = re.sub(r"--sample\b", "tsql.sample()", text)
    return _SHORT.sub(r"`\1`", _FLAG.sub(_option, text))


def _option(flag: re.Match[str]) -> str:
    """Translates an option in a sentence, with its value if it has one."""
    option, gap, value = flag[1], flag[2] or "", flag[3] or ""
    is_value = bool(_VALUE.match(value)) or value in _WORDS
    if option in _SWITCHES or option.startswith("no-"):
        return f"{argument_name(option)}={not option.startswith('no-')}{gap}{value}"
    if not is_value:
        return f"`{argument_name(option)}`{gap}{value}"
    if option in _OPENING:
        return _OPENING[option].format(_literal(option, value))
    if option == "set":
        name, _, text = value.partition("=")
        return f"{name}={_quoted(text)}"
    return f"{argument_name(option)}={_literal(option, value)}"


def _command(span: re.Match[str]) -> str:
    """Translates a command in backticks. Other text stays."""
    tokens = _TOKEN.findall(span[1])
    if not tokens or tokens[0] != "tsql":
        return span[0]
    if len(tokens) == 2 and tokens[1].startswith('"'):
        return f"`store.sql({tokens[1]})`"
    for length in (3, 2, 1):
        command = " ".join(tokens[1 : 1 + length])
        if len(tokens) > length and command in _CALLS:
            return f"`{_call(command, tokens[1 + length :])}`"
    return span[0]


def _call(command: str, tokens: list[str]) -> str:
    """Returns the call of a command with the rest of its tokens."""
    positional: list[str] = []
    options: dict[str, str] = {}
    tokens = [token for token in tokens if token != "..."]
    while tokens:
        token = tokens.pop(0)
        if not token.startswith("-"):
            positional.append(token)
            continue
        option, _, value = token.lstrip("-").partition("=")
        option = "output" if option == "o" else option
        takes_value = option not in _SWITCHES and not value and tokens and not tokens[0].startswith("-")
        options[option] = value or (tokens.pop(0) if takes_value else "")
    call = _CALLS[command]
    values: list[tuple[str, str]] = []
    for field in re.findall(r"\{(\w+)\}", call):
        value = options.pop(field, "") if not field.isdigit() else (positional[int(field) :] or [""])[0]
        values.append((field, _literal(field, value) if value else ""))
    if "[" in call:
        return call.format(values[0][1]) if values[0][1] else call.partition("[")[0]
    arguments = [
        f"{argument_name(option, command)}={_literal(option, value) if value else option in _SWITCHES or '...'}"
        for option, value in options.items()
    ]
    given = [value for _, value in values if value] + arguments
    prefix, _, rest = call.partition("(")
    if not _ or (not given and (not values or rest == "...)")):
        return call
    fixed = re.findall(r'"\w+"(?=, \{)', rest)
    return f"{prefix}({', '.join([*fixed, *given]) if given else '...'})"


def _literal(option: str, value: str) -> str:
    """Returns a value of an option as Python code."""
    if option in ("set", "label", "model"):
        name, _, text = value.partition("=")
        return f"{{{_quoted(name)}: {_quoted(text)}}}"
    if option == "shard" and re.fullmatch(r"\d+/\d+", value):
        return f"({value.replace('/', ', ')})"
    if option in ("features", "parts", "policy"):
        return f"[{', '.join(map(_quoted, value.split(',')))}]"
    if re.fullmatch(r"[\d.]+%", value):
        return f"{float(value[:-1]) / 100:g}"
    return _quoted(value)


def _quoted(value: str) -> str:
    return value if value.startswith('"') or value.isdigit() else f'"{value}"'
