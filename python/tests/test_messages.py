"""Messages of the library in Python: calls in place of commands, arguments in place of options."""

from __future__ import annotations

import ast
import inspect
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import CHECKOUT

import tsql
from tsql._messages import argument_name, call_of, in_python

# Text for a terminal, for people who set a machine up, or for the files of a publication.
NOT_RAISED = (
    "crates/measure/src/doctor",
    "crates/plot/src/scene",
    "crates/cli/src",
    "crates/fuzz-targets/src",
    "crates/server/src/html_report",
    "crates/ml/src/publish/card",
    "crates/ml/src/publish/facts",
    "crates/worker/src",
)

# Options in messages that only commands raise.
# `--set NAME=VALUE` is an argument of that name.
ONLY_COMMANDS = {"cert", "format", "gpus", "sample", "set", "store", "temp_dir", "tls_ca", "tls_cert", "tls_key"}


def messages() -> Iterator[tuple[str, str]]:
    """Texts of the library that name a command or an option in a hint, with their files."""
    sources = [*(CHECKOUT / "src").rglob("*.rs"), *(CHECKOUT / "crates").glob("*/src/**/*.rs")]
    for file in sources:
        path = str(file.relative_to(CHECKOUT))
        if path.startswith(NOT_RAISED) or "/tests" in path:
            continue
        text = file.read_text().split("#[cfg(test)]\nmod tests")[0]
        text = "\n".join(line for line in text.split("\n") if not line.strip().startswith("//"))
        for literal in re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', text):
            message = re.sub(r"\\\n\s*", "", literal).replace("\\n", "\n").replace('\\"', '"')
            message = message.replace("{kind}{changes}", "retract")
            message = f"x\n{message}" if message.startswith("hint: ") else message
            if "hint: " in message and re.search(r"`tsql |(?<![-\w])--[a-z]", message) and "--gpus" not in message:
                yield path, message


def target(node: ast.expr) -> Any:
    """The object that an expression names; `store` is any store."""
    if isinstance(node, ast.Name):
        return {"store": tsql.Store, "tsql": tsql}[node.id]
    if isinstance(node, ast.Attribute):
        return getattr(target(node.value), node.attr)
    return target(node.func if isinstance(node, ast.Call) else node.value)  # type: ignore[attr-defined]


def check_call(code: str) -> None:
    """Checks that a call exists, and has the arguments."""
    node = ast.parse(code.replace("(...)", "()"), mode="eval").body
    function = target(node)
    if isinstance(node, ast.Call) and not isinstance(node.func, ast.Call):
        parameters = inspect.signature(function).parameters
        is_open = any(one.kind == one.VAR_KEYWORD for one in parameters.values())
        assert is_open or {keyword.arg for keyword in node.keywords} <= set(parameters), code


def all_arguments() -> set[str]:
    calls = [tsql.open, tsql.create, *(value for _, value in inspect.getmembers(tsql.Store, inspect.isfunction))]
    # `Store.publish` accepts metadata such as the date as any argument.
    return {name for call in calls for name in inspect.signature(call).parameters} | {"x", "y", "date"}


def test_all_messages_name_calls_and_arguments_that_exist() -> None:
    arguments = all_arguments()
    found = 0
    for path, message in messages():
        found += 1
        hint = in_python(message).split("hint: ", 1)[1]
        assert not re.search(r"`tsql (?!worker)|(?<![-\w])--[a-z]", re.sub(r"`tsql worker[^`]*`", "", hint)), f"{path}: {hint}"
        for code in re.findall(r"`((?:store|tsql)\.[^`]*)`", hint):
            check_call(code)
        for option in re.findall(r"(?<![-\w])--([a-z][a-z-]*)", re.sub(r"`tsql [^`]*`", "", message)):
            assert argument_name(option) in arguments | ONLY_COMMANDS, f"{path}: --{option}"
    assert found > 50


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("x\nhint: `tsql check` lists all damage", "x\nhint: `store.check()` lists all damage"),
        ("x\nhint: `tsql check --repair` restores", "x\nhint: `store.repair()` restores"),
        ("x\nhint: --overwrite replaces it", "x\nhint: overwrite=True replaces it"),
        ("x\nhint: use --no-sandbox", "x\nhint: use sandbox=False"),
        ("x\nhint: give one with --platform NAME, or", 'x\nhint: give one with platform="NAME", or'),
        ("x\nhint: choose another with --where", "x\nhint: choose another with `where`"),
        ("x\nhint: --kind, -x and -y choose", "x\nhint: `kind`, `x` and `y` choose"),
        ("x\nhint: --kind bar, which counts", 'x\nhint: kind="bar", which counts'),
        ("x\nhint: --revision 3", "x\nhint: revision=3"),
        ("x\nhint: --shard 3/8 is the third of eight", "x\nhint: shard=(3, 8) is the third of eight"),
        ("x\nhint: --features a,b", 'x\nhint: features=["a", "b"]'),
        ("x\nhint: --label platform=k80", 'x\nhint: labels={"platform": "k80"}'),
        ("x\nhint: --set logs=FILE, a log", 'x\nhint: logs="FILE", a log'),
        ("x\nhint: `tsql queries platform-summary` shows", 'x\nhint: `store.queries["platform-summary"]` shows'),
        ("x\nhint: `tsql queries` lists", "x\nhint: `store.queries` lists"),
        ("x\nhint: `tsql retract --where \"line > 3\" --why ...` in", 'x\nhint: `store.retract("line > 3", why=...)` in'),
        ("x\nhint: `tsql restore --all` restores", 'x\nhint: `store.restore("true", all=True)` restores'),
        ("x\nhint: `tsql correct --label platform=k80 --why ...`", 'x\nhint: `store.correct({"platform": "k80"}, why=...)`'),
        ("x\nhint: `tsql describe records` lists", 'x\nhint: `tsql.tables()["records"]` lists'),
        ("x\nhint: `tsql export files -o DIR` writes", 'x\nhint: `store.export("DIR")` writes'),
        ("x\nhint: `tsql export databases -o DIR` writes", 'x\nhint: `store.export_databases("DIR")` writes'),
        ("x\nhint: `tsql export lines` writes", "x\nhint: `store.export_lines(...)` writes"),
        ("x\nhint: `tsql export training` writes", "x\nhint: `store.write_training_files(...)` writes"),
        ("x\nhint: `tsql subset delete NAME` deletes", 'x\nhint: `store.delete_subset("NAME")` deletes'),
        ("x\nhint: `tsql split delete NAME@2` deletes", 'x\nhint: `store.delete_split("NAME@2")` deletes'),
        ("x\nhint: `tsql split leaks NAME` lists", 'x\nhint: `store.split_leaks("NAME")` lists'),
        (
            "x\nhint: `tsql split create NAME --unit task --ratio 80/10/10` creates one",
            'x\nhint: `store.create_split("NAME", unit="task", ratio="80/10/10")` creates one',
        ),
        ("x\nhint: `tsql ui --allow-files` allows", "x\nhint: `store.ui(allow_files=True)` allows"),
        ("x\nhint: `tsql report html -o x.html` writes", 'x\nhint: `store.report_html("x.html")` writes'),
        ("x\nhint: `tsql optimize --again` rewrites", "x\nhint: `store.optimize(again=True)` rewrites"),
        ("x\nhint: `tsql init --store DIR` creates one", 'x\nhint: `tsql.create("DIR")` creates one'),
        ("x\nhint: `tsql measure resume` stores them", "x\nhint: `store.resume_measured()` stores them"),
        ("x\nhint: `tsql worker run --deadline` sets it", "x\nhint: `tsql worker run --deadline` sets it"),
        ('x\nhint: try it first: tsql "SELECT 1"', 'x\nhint: try it first: `store.sql("SELECT 1")`'),
        ("x\nhint: --memory-limit SIZE (or TSQL_MEMORY_LIMIT) limits", 'x\nhint: tsql.open(..., memory_limit="SIZE") limits'),
        ("x\nhint: --workers HOST:PORT,HOST:PORT", 'x\nhint: tsql.open(..., workers="HOST:PORT,HOST:PORT")'),
        ("x\nhint: --temp-dir DIR selects", "x\nhint: the environment variable TMPDIR selects"),
        ("x\nhint: leave out --at", "x\nhint: leave out `at`"),
        ("x\nhint: run the same command again", "x\nhint: run the same call again"),
        ("--source: invalid pattern `--x`", "source: invalid pattern `--x`"),
        ("a -- b, --x of the user's", "a -- b, --x of the user's"),
    ],
)
def test_messages_name_python_calls(message: str, expected: str) -> None:
    assert in_python(message) == expected


def test_a_missing_store_is_created_in_python() -> None:
    message = "there is no store\nhint: `tsql ingest FILES` creates one, --store DIR selects one, --sample selects the built-in one"
    expected = 'there is no store\nhint: `tsql.create("DIR")` creates one, tsql.open("DIR") selects one, tsql.sample() selects the built-in one'
    assert in_python(message, "no_store") == expected


# Commands for a terminal, a shell or a service, and groups of commands.
WITHOUT_CALL = {
    "batch",
    "completions",
    "import",
    "man",
    "mcp",
    "measure template",
    "measure template create",
    "platform",
    "platform list",
    "plot graph",
    "report",
    "score",
    "serve",
    "split",
    "split presets",
    "store",
    "subset",
    "subset list",
    "tag",
    "worker",
    "worker run",
}

# Options of the command line only: of its output, of questions to the user, and what other calls do.
WITHOUT_ARGUMENT = {
    ("append", "bytes"),
    ("append", "ack"),
    *(("compare", option) for option in ("fail-on-unclear", "inject", "junit", "pairs", "self")),
    ("diff", "by-source"),
    ("gate", "allow-unclear"),
    ("gate", "junit"),
    *(("measure pair", option) for option in ("fail-on-regression", "fail-on-unclear", "junit")),
    ("trend", "fail-on-regression"),
    ("measure run", "dry-run"),
    ("split delete", "dry-run"),
    ("subset delete", "dry-run"),
    ("tag delete", "dry-run"),
    ("note delete", "dry-run"),
    ("platform unset", "dry-run"),
    *((f"score {one}", option) for one in ("tenset", "tlp", "tpugraphs", "graphnet") for option in ("all-intervals", "rows")),
    ("export training", "graphs"),
    ("export training", "verify"),
    ("tables", "all"),
    ("describe", "all"),
    ("plot", "width"),
    ("plot", "set"),
    ("ui", "no-open"),
    ("note list", "platform"),
    ("note list", "source"),
    ("note list", "where"),
}
OUTPUT = {"events", "format", "help", "max-rows", "output", "sql", "units", "yes"}

_PRINT_HELP = """
import json, os, sys
from tsql.__main__ import main
for words in json.load(sys.stdin):
    sys.argv = ["tsql", *words, "-h"]
    main()
    os.write(1, b"\\0")
"""


def helps(commands: list[list[str]]) -> list[str]:
    """The help of each command."""
    command = [sys.executable, "-c", _PRINT_HELP]
    done = subprocess.run(command, input=json.dumps(commands), capture_output=True, text=True, check=True)
    return done.stdout.split("\0")[:-1]


def options_of_commands() -> dict[str, list[str]]:
    """Options of each command."""
    listed = re.search(r"^Commands:\n((?:  .*\n)+)", helps([[]])[0], re.MULTILINE)
    assert listed is not None
    level = [[name] for line in listed[1].splitlines() for name in line[18:].split() if name != "help"]
    found = {}
    while level:
        below: list[list[str]] = []
        for words, text in zip(level, helps(level), strict=True):
            own = text.split("\nStore and limits:")[0]
            found[" ".join(words)] = re.findall(r"^ +(?:-\w, )?--([a-z-]+)", own, re.MULTILINE)
            listed = re.search(r"^Commands:\n((?:  .*\n)*)", own, re.MULTILINE)
            names = re.findall(r"^  ([a-z][a-z-]*)", listed[1], re.MULTILINE) if listed else []
            below += [[*words, name] for name in names if name != "help"]
        level = below
    return found


def test_each_command_has_a_call_with_its_options() -> None:
    commands = options_of_commands()
    assert len(commands) > 60
    assert {name for name in commands if call_of(name) is None} == WITHOUT_CALL
    for name, options in commands.items():
        call = call_of(name)
        if call is None:
            continue
        code = re.sub(r"\{\w+\}", "x", call).replace("...", "x")
        function = target(ast.parse(code, mode="eval").body)
        if not inspect.isfunction(function):
            continue
        parameters = inspect.signature(function).parameters
        is_open = any(one.kind == one.VAR_KEYWORD for one in parameters.values())
        positional = re.findall(r"\{([a-z]\w*)\}", call)
        for option in options:
            if option in OUTPUT or option in positional or (name, option) in WITHOUT_ARGUMENT or f"{name} --{option}" == "check --repair":
                continue
            assert is_open or argument_name(option, name) in parameters, f"tsql {name} --{option}: {call}"
