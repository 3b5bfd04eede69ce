"""Messages of the library in the words of Python: it names commands and flags of the command line, which a program does not have."""

from __future__ import annotations

import re

_CALLS = {
    "check": "store.check()",
    "check --repair": "store.repair()",
    "compare": "store.compare(...)",
    "correct": "store.correct(...)",
    "describe": 'tsql.tables()["{}"]',
    "export": "store.export(...)",
    "export files -o DIR": 'store.export("DIR")',
    "export training": "store.write_training_files(...)",
    "functions": 'tsql.functions("{}")',
    "history": "store.history()",
    "import features": "store.import_features(...)",
    "ingest": "store.ingest(...)",
    "init": "tsql.create(...)",
    "measure": "store.measure(...)",
    "measure devices": "tsql.measure.devices()",
    "measure resume": "store.resume_measured()",
    "note": "store.note(...)",
    "optimize": "store.optimize()",
    "page": "store.page(...)",
    "plot": "store.plot(...)",
    "publish": "store.publish(...)",
    "queries": 'store.questions["{}"]',
    "restore": "store.restore(...)",
    "restore --all": 'store.restore("true", all=True)',
    "retract": "store.retract(...)",
    "split leaks": "store.check_split(...)",
    "split create": "store.create_split(...)",
    "split list": "store.splits",
    "split show": "store.parts_of_split(...)",
    "tables": "tsql.tables()",
    "tag create": "store.tag(...)",
    "tag delete": "store.delete_tag(...)",
    "tag list": "store.tags",
    "ui": "store.ui(...)",
    "ui --files": "store.ui(files=True)",
    "vacuum": "store.vacuum()",
    "verify": "tsql.verify(...)",
}
"""What stands for a command, by its first words; `{}` is its argument. A command that is not here has no call: it stays."""

_FLAGS = {
    "files": "form",
    "file": "form",
    "memory-limit": "memory_limit",
    "param": "params",
    "question": "name",
    "retain": "retain",
}
"""Arguments that are called otherwise than their flags; all else has underscores for dashes."""

_SWITCHES = frozenset(
    ("all", "allow-missing", "force-unlisted", "keep-going", "overwrite", "skip-null", "strict", "dry-run")
)
"""Flags without a value."""

_COMMAND = re.compile(r"`tsql(?: ([^`]*))?`")
_FLAG = re.compile(r"(?<![-\w`/])(`?)--(?!gpus|cpus|cpuset-cpus|cap-add|ulimit|jobs)([a-z][a-z-]*)(?:([ =])(\"[^\"]*\"|[^\s,;:`)]+))?(`?)")
_VALUE = re.compile(r'"|[A-Z0-9]|[^\s]*[@/,=]')
_PHRASES = (
    ("--store DIR names one, --sample asks the small one that is built in", 'tsql.open("DIR") names one, tsql.sample() is the one that is built in'),
    ("the shell (`tsql`) and `tsql -o FILE` do that", "`store.sql` does that"),
    ("--workers HOST:PORT,HOST:PORT, dns:NAME:PORT or slurm", 'workers="HOST:PORT,HOST:PORT", "dns:NAME:PORT" or "slurm"'),
    ("--memory-limit SIZE (or TSQL_MEMORY_LIMIT)", 'tsql.open(..., memory_limit="SIZE")'),
    ("--temp-dir DIR puts", "the environment variable TMPDIR puts"),
    ("--features schedule_numbers,workload_shape", 'features=["schedule_numbers", "workload_shape"]'),
    ("--part 3/8", "part=(3, 8)"),
    ("--set platform=k80", 'store.correct({"platform": "k80"}, ...)'),
    ("leave out --at", "open it without `at`"),
    ("the same command again", "the same call again"),
    ("run the same command again", "make the same call again"),
)
_VALUED = frozenset(("column", "version", "part"))
_CHOICES = {"large-groups": ("sampled", "cut"), "files": ("parquet", "npz", "arrow"), "kind": ("bar",), "unit": ("task",)}


def in_python(message: str) -> str:
    """The message with calls in the place of commands, and arguments in the place of flags. Only its hints name flags, and
    its beginning: the rest may be text of the user's."""
    if "tsql" not in message and "--" not in message:
        return message
    fact, *hints = message.split("\nhint: ")
    fact = _COMMAND.sub(_call, fact)
    if fact.startswith("--"):
        fact = _FLAG.sub(_argument, fact, count=1)
    return "\nhint: ".join([fact, *map(_hint, hints)])


def _hint(hint: str) -> str:
    for command, call in _PHRASES:
        hint = hint.replace(command, call)
    hint = _COMMAND.sub(_call, hint)
    hint = re.sub(r"--set (\w+)=(\w+)", r"\1=\2", hint)
    hint = re.sub(r"--store (\S+) uses", r'tsql.open("\1") uses', hint)
    return _FLAG.sub(_argument, hint)


def _call(found: re.Match[str]) -> str:
    command: str = found[1] or ""
    if command.startswith('"'):
        return f"`store.sql({command})`"
    words = command.split()
    for length in range(min(3, len(words)), 0, -1):
        call = _CALLS.get(" ".join(words[:length]))
        if call is None:
            continue
        rest = words[length:]
        if "{}" in call:
            return f"`{call.format(rest[0])}`" if rest else f"`{call[: call.index('{') - 2]}`"
        given = [_given(flag) for flag in _FLAG.finditer(" " + " ".join(rest))]
        if given and call.endswith("(...)") and words[0] != "init":
            call = f"{call.removesuffix('...)')}{', '.join(given)})"
        return f"`{call}`"
    return str(found[0])


def _named(flag: str) -> str:
    return _FLAGS.get(flag, flag.replace("-", "_"))


def _quoted(value: str) -> str:
    return value if value.startswith('"') or value.isdigit() else f'"{value}"'


def _given(found: re.Match[str]) -> str:
    """A flag of a command as an argument of its call."""
    name, value = _named(found[2]), found[4]
    if found[2] in _SWITCHES:
        return f"{name}=True"
    return f"{name}={_quoted(value) if value and value != '...' else '...'}"


def _argument(found: re.Match[str]) -> str:
    """A flag in a sentence as an argument: with its value where it has one."""
    before, flag, gap, value, after = (found[number] or "" for number in range(1, 6))
    name = _named(flag)
    if flag in _SWITCHES:
        return f"{before}{name}=True{gap}{value}{after}"
    if value and (_VALUE.match(value) or value in _CHOICES.get(flag, ()) or flag in _VALUED):
        return f"{before}{name}={_quoted(value)}{after}"
    return f"{before}{name}{gap}{value}{after}"
