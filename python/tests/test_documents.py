"""The documents: notebooks run and draw, what pages show is so."""

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


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_and_draw(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat, nbclient, *_ = (package(name) for name in ("nbformat", "nbclient", "ipykernel", "matplotlib"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(CHECKOUT / "python"), os.environ.get("PYTHONPATH", "")]))
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(CHECKOUT)}}).execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not [output for output in outputs if output.output_type == "error"]
    if "TSQL_WRITE_NOTEBOOKS" in os.environ:
        for cell in notebook.cells:
            cell.metadata.clear()
        nbformat.write(notebook, path)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) == 3


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
