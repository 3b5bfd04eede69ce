"""Loaders behind torch's `DataLoader`: multisets of rows, whoever takes them, with torch where it is installed, else its stand-in."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import tsql

try:
    from torch.utils.data import DataLoader
except ImportError:
    sys.path.append(str(Path(__file__).parent / "standin"))
    from torch.utils.data import DataLoader

SQL = "SELECT source_id, line FROM records WHERE dataset = 'tenset' AND status = 'ok' ORDER BY source_id, line"
Rows = Counter[tuple[int, int]]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def of(step: dict[str, Any]) -> list[tuple[int, int]]:
    return list(zip(step["source_id"].tolist(), step["line"].tolist(), strict=True))


def rows_of(steps: Iterable[dict[str, Any]]) -> Rows:
    return Counter(row for step in steps for row in of(step))


def loaders(store: tsql.Store, world: int, **options: Any) -> list[tsql.TrainingRows]:
    return [store.training_rows(SQL, batch_rows=20, seed=3, rank=rank, world=world, **options) for rank in range(world)]


def everything(store: tsql.Store) -> Rows:
    rows: Rows = Counter(store.sql(SQL).rows())
    assert len(rows) == 456 and set(rows.values()) == {1}
    return rows


@pytest.mark.parametrize(("world", "workers"), list(itertools.product([1, 2, 4], [0, 2])))
def test_each_epoch_is_every_row_once(store: tsql.Store, world: int, workers: int) -> None:
    every = everything(store)
    orders = []
    ranks = [one.dataloader(num_workers=workers) for one in loaders(store, world, pad=False)]
    for _ in range(2):
        steps = [list(rank) for rank in ranks]
        assert sum(map(rows_of, steps), Counter()) == every
        assert max(map(len, steps)) - min(map(len, steps)) <= 1
        orders.append([of(step) for step in steps[0]])
    assert orders[0] != orders[1]


@pytest.mark.parametrize(("world", "workers"), [(2, 0), (4, 0), (4, 2)])
def test_padding_is_marked_and_can_be_left_out(store: tsql.Store, world: int, workers: int) -> None:
    every = everything(store)
    ranks = loaders(store, world)
    steps = [list(rank.dataloader(num_workers=workers)) for rank in ranks]
    # 23 batches: the last of the ranks repeats one.
    assert {len(rank) for rank in steps} == {-(-23 // world)}
    padding = [batch for rank in loaders(store, world) for batch in rank if batch.is_padding]
    assert len(padding) == -23 % world and all(batch.number >= 23 for batch in padding)
    assert sum(map(rows_of, steps), Counter()) == every + sum((Counter(batch.rows()) for batch in padding), Counter())
    dropped = [list(rank.dataloader(num_workers=workers)) for rank in loaders(store, world, drop_last=True)]
    assert {len(rank) for rank in dropped} == {22 // world}
    assert set(sum(map(rows_of, dropped), Counter()).values()) == {1}


@pytest.mark.parametrize(
    ("before", "after", "workers"),
    [(*pair, 0) for pair in itertools.product([1, 2, 4], [1, 2, 4])] + [(1, 4, 2), (4, 2, 2), (2, 1, 2)],
)
def test_a_state_goes_on_with_another_number_of_ranks(store: tsql.Store, before: int, after: int, workers: int) -> None:
    every = everything(store)
    first = loaders(store, before)
    taken: Rows = Counter()
    for rank in first:
        taken += rows_of(itertools.islice(rank.dataloader(num_workers=workers, **({"prefetch_factor": 3} if workers else {})), 3))
    states = [rank.state_dict() for rank in first]
    assert {(state["epoch"], state["batches"]) for state in states} == {(0, 3 * before)}
    second = loaders(store, after, pad=False)
    for rank in second:
        rank.load_state_dict(states[-1])
    rest = [rank.dataloader(num_workers=workers) for rank in second]
    assert taken + sum((rows_of(rank) for rank in rest), Counter()) == every
    assert {rank.epoch for rank in second} == {1}
    assert sum((rows_of(rank) for rank in rest), Counter()) == every
    # Of the next epoch, too, in the middle of which the ranks stop once more.
    stopped = sum((rows_of(itertools.islice(rank, 2)) for rank in rest), Counter())
    assert {tuple(rank.state_dict()[name] for name in ("epoch", "batches")) for rank in second} == {(2, 2 * after)}
    assert stopped + sum((rows_of(rank) for rank in rest), Counter()) == every


def test_steps_made_ahead_are_not_counted(store: tsql.Store) -> None:
    rows = loaders(store, 1)[0]
    plain = [Counter(batch.rows()) for batch in loaders(store, 1)[0]]
    for count, step in enumerate(rows.dataloader(num_workers=2, prefetch_factor=4), 1):
        assert rows_of([step]) == plain[count - 1]
        assert rows.state_dict()["batches"] == count
    assert (rows.state_dict()["epoch"], rows.state_dict()["batches"]) == (1, 0)


@pytest.mark.parametrize("context", ["forkserver", "spawn"])
def test_workers_that_persist_go_on(store: tsql.Store, context: str) -> None:
    rows = loaders(store, 1)[0]
    expected = [Counter(batch.rows()) for batch in loaders(store, 1)[0].epochs(3)]
    steps = rows.dataloader(num_workers=2, persistent_workers=True, multiprocessing_context=context)
    begun = [rows_of([step]) for step in itertools.islice(steps, 5)]
    assert begun == expected[:5]
    found = begun + [rows_of([step]) for _ in range(3) for step in steps]
    assert found == expected


@pytest.mark.parametrize("persistent", [False, True])
def test_a_dataloader_of_others_gets_one_epoch_after_another(store: tsql.Store, persistent: bool) -> None:
    whole = loaders(store, 1)[0]
    expected = [[Counter(batch.rows()) for batch in whole] for _ in range(4)]
    rows = loaders(store, 1)[0]
    how = {"batch_size": None, "multiprocessing_context": "forkserver"}
    others = DataLoader(rows.iterable(), num_workers=2, persistent_workers=persistent, collate_fn=of, **how)
    assert [Counter(step) for step in others] == expected[0]
    # One that is left early was an epoch, too: nobody knows what of it was used.
    assert [Counter(step) for step in itertools.islice(others, 1)] == expected[1][:1]
    assert [Counter(step) for step in others] == expected[2]
    assert rows.epoch == 2
    for call in (rows.state_dict, rows.peek, lambda: next(iter(rows)), rows.dataloader):
        with pytest.raises(tsql.errors.ArgumentError, match="dataloader"):
            call()
    rows.load_state_dict(whole.state_dict() | {"epoch": 3, "batches": 2})
    assert [Counter(step) for step in others] == expected[3][2:]
    with_more = DataLoader(loaders(store, 1)[0].iterable(), num_workers=3, **how)
    assert [rows_of([step]) for step in with_more] == expected[0]


def test_a_dataloader_makes_no_batches_of_its_own(store: tsql.Store) -> None:
    rows = loaders(store, 1)[0]
    for options in ({"batch_size": 4}, {"in_order": False}):
        with pytest.raises(tsql.errors.ArgumentError, match="batch|order"):
            rows.dataloader(**options)
    steps = rows.dataloader()
    assert len(steps) == 23
    next(iter(steps))
    assert len(steps) == 22
