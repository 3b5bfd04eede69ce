"""The documentation: notebooks, generated pages and the names in the guides."""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import CHECKOUT, SHARED

import tsql

DOCS = CHECKOUT / "docs"
NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


def package(name: str) -> Any:
    """A package; the test is skipped where it is not here, unless all must be."""
    return importlib.import_module(name) if "TSQL_REQUIRE_PYTHON" in os.environ else pytest.importorskip(name)


@pytest.fixture(scope="module")
def generators() -> Any:
    """The modules that generate pages of the site, from the folder of the documents."""
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("generators.commands"), importlib.import_module("generators.cookbook")
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_plot(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient, *_ = (package(name) for name in ("nbformat", "nbclient", "ipykernel", "matplotlib", "pandas"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT / "python"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(CHECKOUT)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any({"image/png", "image/svg+xml"} & output.get("data", {}).keys() for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    if "TSQL_WRITE_NOTEBOOKS" in os.environ:
        for cell in notebook.cells:
            cell.metadata.clear()
        nbformat.write(notebook, path)


def test_notebooks_are_stored_with_outputs_and_small() -> None:
    assert len(NOTEBOOKS) == 3
    for path in NOTEBOOKS:
        assert '"image/' in path.read_text() and path.stat().st_size < 200_000, path


def test_pages_of_commands_cover_every_command(generators: Any) -> None:
    commands, _ = generators
    helps, pages = commands.all_helps(), commands.pages()
    assert ("ingest",) in helps and ("measure", "template", "list") in helps
    for words, one in helps.items():
        page = pages[f"reference/commands/{words[0]}.md" if words else "reference/commands/index.md"]
        heading = f"{'#' * len(words)} tsql {' '.join(words)}\n" if words else "# Commands\n"
        assert heading in page and one.summary and one.usage, words
        options = [entry.term for entry in one.sections.get("Options", []) if not entry.term.startswith(("-h", "-V"))]
        assert all(f"`{option}`" in page for option in options), words


def test_helps_are_parsed(generators: Any) -> None:
    commands, _ = generators
    assert commands.parse_groups("Usage\n\nCommands:\n  Get in   ingest  append\n  Other    man help\n\nOptions:\n") == {
        "Get in": ["ingest", "append"],
        "Other": ["man"],
    }
    one = commands.parse_help(
        "Do it\n\nSlowly.\n\nUsage: tsql do <A>\n       tsql do\n\nArguments:\n  <A>\n          First\n\nOptions:\n"
        "  -b, --both <N>\n          Both [default: 2]\n\n          Possible values:\n          - x: one\n\n"
        "Examples:\n  tsql do \\\n      it\n\nThe end.\n"
    )
    assert (one.summary, one.description, one.usage) == ("Do it", ["Slowly."], ["tsql do <A>", "tsql do"])
    assert [(entry.term, entry.summary) for entry in one.sections["Arguments"]] == [("<A>", "First")]
    (option,) = one.sections["Options"]
    assert (option.term, option.paragraphs) == ("-b, --both <N>", ["Both [default: 2]", "Possible values:\n- x: one"])
    assert one.examples == ["tsql do \\", "    it", ""]


def test_the_cookbook_has_every_built_in_query(generators: Any) -> None:
    _, cookbook = generators
    listed = [name for theme in cookbook.THEMES for name in theme.queries]
    files = {path.stem for path in (CHECKOUT / "queries").glob("*.sql")} - {"duckdb-views"}
    assert sorted(listed) == sorted(files)


def test_the_manifest_of_the_reference_is_one(tmp_path: Path) -> None:
    page = (DOCS / "reference" / "manifest.md").read_text()
    text = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert text is not None
    (tmp_path / "manifest.toml").write_text(text.group(1))
    for name in ("scale.c", "reference.c"):
        (tmp_path / name).write_text("void scale(const float *x, float *y) {}\n")
    command = [sys.executable, "-m", "tsql", "measure", "run", str(tmp_path / "manifest.toml"), "--dry-run", "--search", "grid"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and '["scale", {"N": 4096}, {"op": "scale"}]' in done.stderr, done.stderr


def test_names_of_calls_in_the_guides_are_there() -> None:
    folders = ("how-to", "tutorials", "formats", "operations")
    paths = [path for folder in folders for path in (DOCS / folder).glob("*.md")]
    pages = "\n".join(path.read_text() for path in [*paths, DOCS / "index.md"])
    called = set(re.findall(r"\bstore\.(\w+)\(", pages))
    assert len(called) > 6 and not [name for name in called if not hasattr(tsql.Store, name)]
    top = set(re.findall(r"\btsql\.(\w+)[.(]", pages)) - {"slt"}
    assert not [name for name in top if not hasattr(tsql, name)]


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared files are not here")
def test_a_ranking_model_is_learned_in_25_lines(tmp_path: Path) -> None:
    pytest.importorskip("lightgbm")
    example = CHECKOUT / "python" / "examples" / "ranking_model.py"
    body = example.read_text().split("import tsql\n")[1].split("if __name__")[0]
    assert len([line for line in body.split("\n") if line.strip()]) <= 25
    command = [sys.executable, str(example), str(tmp_path / "store"), str(SHARED / "data" / "tenset" / "x86")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = dict(re.findall(r"split by (\w+): pairs ([0-9.]+)", done.stdout))
    # What is tested on rows of known tasks looks better than it is for new ones.
    assert 0.55 < float(told["task"]) < float(told["record"]) < 0.9
