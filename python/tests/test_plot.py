"""Plots of results, and the HTML report of a store."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import tsql


def _lists(svg: str, name: str) -> list[list[float]]:
    return [json.loads(unescape(text)) for text in re.findall(f'{name}="([^"]*)"', svg)]


def test_a_plot_has_the_rows_of_the_result(store: tsql.Store) -> None:
    sql = "SELECT line, runtime_ns FROM records WHERE status = 'ok' ORDER BY source_id, line LIMIT 50"
    result = store.sql(sql)
    plot = result.plot("scatter", x="line", y="runtime_ns", title="a title")
    rows = result.rows()
    assert _lists(plot.svg(), "data-x") == [[row[0] for row in rows]]
    assert _lists(plot.svg(), "data-y") == [[row[1] for row in rows]]
    assert plot._repr_svg_() == plot.svg() and "a title" in plot.svg()
    assert plot.png(320)[16:20] == (320).to_bytes(4, "big")


def test_files_are_written_by_their_names(store: tsql.Store, tmp_path: Path) -> None:
    plot = store.plot("SELECT platform FROM records", theme="dark", size="slide")
    assert plot.kind == "bar"
    for name, start in [("a.svg", b"<svg"), ("a.png", b"\x89PNG"), ("a.html", b"<!DOCTYPE html>")]:
        plot.save(tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(start)
    with pytest.raises(ValueError, match="expected NAME.svg"):
        plot.save(tmp_path / "a.gif")
    store.report_html(tmp_path / "store.html", "mine")
    page = (tmp_path / "store.html").read_text()
    assert "<h1>tsql · mine</h1>" in page and "https://" not in page


def test_plots_of_unfit_columns_are_errors(store: tsql.Store) -> None:
    with pytest.raises(tsql.errors.ArgumentError, match="column `platform` is text"):
        store.plot("SELECT platform FROM records", "histogram", x="platform")
    with pytest.raises(tsql.errors.ArgumentError, match="no column `x`"):
        store.plot("SELECT platform FROM records", x="x")
    with pytest.raises(tsql.errors.ArgumentError, match="light or dark"):
        store.plot("SELECT platform FROM records", theme="blue").svg()
