"""A store of the project's own data, as all tests read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import tsql

CHECKOUT = Path(__file__).parents[2]
DATA = CHECKOUT / "data"
SHARED = CHECKOUT.parent / "shared"


@pytest.fixture(scope="session")
def location(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Where a store with all of `data/` is; nobody writes to it."""
    folder = tmp_path_factory.mktemp("store")
    store = tsql.create(folder / "store")
    report = store.ingest(DATA)
    assert report.records > 600 and not report.failed_files
    return str(folder / "store")


@pytest.fixture
def store(location: str) -> Iterator[tsql.Store]:
    """That store."""
    with tsql.open(location) as store:
        yield store


@pytest.fixture
def own(tmp_path: Path) -> tsql.Store:
    """An empty store to write to."""
    return tsql.create(tmp_path / "own")
