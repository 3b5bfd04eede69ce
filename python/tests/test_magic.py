"""The magics `%tsql` and `%%tsql` of IPython."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tsql

if "TSQL_REQUIRE_PYTHON" not in os.environ:
    pytest.importorskip("IPython", reason="IPython is not installed")

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config


class Notebook:
    """A shell that runs cells."""

    def __init__(self) -> None:
        config = Config()
        config.HistoryManager.enabled = False
        self.shell = InteractiveShell(config=config)
        self.run("%load_ext tsql")

    def run(self, cell: str) -> Any:
        """Runs a cell. Returns its result, or raises its error."""
        done = self.shell.run_cell(cell)
        done.raise_error()
        return done.result

    def rows(self, cell: str) -> list[tuple[Any, ...]]:
        """Runs a cell. Returns the rows of its result."""
        result = self.run(cell)
        assert isinstance(result, tsql.Result)
        return result.rows()


@pytest.fixture
def notebook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    yield Notebook()


def test_a_store_is_selected_once(notebook: Notebook, location: str) -> None:
    assert notebook.run("%tsql --sample") is None
    assert notebook.rows("%tsql SELECT count(*) FROM records") == [(480,)]
    assert notebook.rows("%tsql --at records@0 SELECT count(*) FROM records") == [(0,)]
    assert notebook.rows("%tsql SELECT count(*) FROM records") == [(480,)]
    assert notebook.rows(f"%tsql --store '{location}' SELECT count(*) > 600 FROM records") == [(True,)]
    assert notebook.rows("%%tsql\nSELECT count(*) > 600\nFROM records") == [(True,)]
    assert notebook.rows(f"%%tsql --store={location} --at=records@0\nSELECT count(*) FROM records") == [(0,)]


def test_the_nearest_store_is_the_default(notebook: Notebook) -> None:
    with pytest.raises(tsql.errors.NotAStore, match="no store here or above"):
        notebook.run("%tsql SELECT 1")
    tsql.create(".tsql")
    assert notebook.rows("%tsql SELECT count(*) FROM records") == [(0,)]


def test_variables_are_parameters_and_never_text(notebook: Notebook) -> None:
    notebook.run("%tsql --sample")
    notebook.run("""p = "x' OR '1'='1"; k = 2; names = ["epyc-1t"]""")
    assert notebook.rows("%tsql SELECT $p, '$p {k}', $k + 1 -- $nothing") == [("x' OR '1'='1", "$p {k}", 3)]
    assert notebook.rows("%%tsql\nSELECT count(*) FROM records\nWHERE platform = $p") == [(0,)]
    assert notebook.rows("%tsql SELECT count(*) FROM records WHERE list_contains($names, platform)") == [(240,)]
    with pytest.raises(UsageError, match="`\\$missing` has no value, expected a variable `missing`"):
        notebook.run("%tsql SELECT $missing")


def test_frames_are_tables(notebook: Notebook) -> None:
    notebook.run("%tsql --sample")
    notebook.run("import pyarrow; frame = pyarrow.table({'a': [1, 2, 3]})")
    assert notebook.rows("%tsql SELECT sum(a) FROM frame") == [(6,)]


@pytest.mark.parametrize(
    "cell",
    [
        "%tsql -o found SELECT 5 AS five",
        "%tsql --output=found SELECT 5 AS five",
        "%tsql found << SELECT 5 AS five",
        "%%tsql -o found\nSELECT 5 AS five",
        "%%tsql --sample found <<\nSELECT 5\nAS five",
    ],
)
def test_results_are_assigned(notebook: Notebook, cell: str) -> None:
    notebook.run("%tsql --sample")
    assert notebook.run(cell) is None
    assert notebook.shell.user_ns["found"].dicts() == [{"five": 5}]


def test_results_are_shown_as_results(notebook: Notebook) -> None:
    notebook.run("%tsql --sample")
    html = notebook.run("%tsql SELECT 1 AS a")._repr_html_()
    assert html == tsql.sample().sql("SELECT 1 AS a")._repr_html_()
    assert notebook.rows("%tsql SELECT 1 << 2") == [(4,)]
    assert notebook.rows("%tsql SELECT -1") == [(-1,)]


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%tsql --bogus SELECT 1", "no option `--bogus`, expected --store"),
        ("%tsql --store", "--store has no value"),
        ("%tsql --store 'a SELECT 1", "open quote"),
        ("%tsql --store a --sample SELECT 1", "two stores"),
        ("%tsql --sample -o 5x SELECT 1", "`5x` is not the name of a variable"),
        ("%tsql --sample -o x", "expected options, then SQL"),
    ],
)
def test_wrong_options_are_usage_errors(notebook: Notebook, cell: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        notebook.run(cell)


def test_errors_have_hints_and_create_no_store(notebook: Notebook, tmp_path: Path) -> None:
    with pytest.raises(tsql.errors.NotAStore, match="hint: "):
        notebook.run(f"%tsql --store {tmp_path}/missing SELECT 1")
    assert not (tmp_path / "missing").exists()
    with pytest.raises(tsql.errors.SqlError, match="did you mean `runtime_ns`"):
        notebook.run("%tsql --sample SELECT runtime FROM records")
    assert notebook.rows("%tsql SELECT 1") == [(1,)]
