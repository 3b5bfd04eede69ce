"""Training loaders: the same sequence, wherever it was left and however many share it."""

from __future__ import annotations

import itertools
import multiprocessing
import pickle
from pathlib import Path

import numpy
import pytest
from conftest import SHARED

import tsql

SQL = (
    "SELECT records.graph_id, source_id, line, schedule_numbers(steps) AS x, ln(runtime_ns) AS y FROM records"
    " JOIN configurations USING (config_id) WHERE status = 'ok' AND dataset = 'tenset' ORDER BY source_id, line"
)


def lines(batch: tsql.Batch) -> list[tuple[int, int]]:
    arrays = batch.numpy()
    return list(zip(arrays["source_id"].tolist(), arrays["line"].tolist(), strict=True))


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_an_epoch_has_every_row_once_and_another_order(store: tsql.Store) -> None:
    rows = store.training_rows(SQL, batch_rows=50, seed=7)
    first, second = ([lines(batch) for batch in rows] for _ in range(2))
    flat = sorted(line for batch in first for line in batch)
    assert len(flat) == len(set(flat)) == len(rows) == 456
    assert sorted(line for batch in second for line in batch) == flat and first != second
    again = store.training_rows(SQL, batch_rows=50, seed=7)
    assert [lines(batch) for batch in again.epochs(2)] == first + second
    assert [lines(batch) for batch in store.training_rows(SQL, batch_rows=50, seed=8)] != first


def test_families_take_turns(store: tsql.Store) -> None:
    sql = "SELECT status, source_id, line FROM records WHERE dataset = 'tenset' ORDER BY source_id, line"
    rows = store.training_rows(sql, batch_rows=40, balance="status")
    counts = [[row[0] for row in batch.rows()].count("failed") for batch in rows]
    assert len(rows) == 480 and counts == [20] * 12
    with pytest.raises(tsql.Error, match="family"):
        store.training_rows(sql, balance="family")


def test_a_loader_resumes_after_every_batch(store: tsql.Store) -> None:
    whole = [lines(batch) for batch in store.training_rows(SQL, batch_rows=60, seed=1)]
    for stop in range(len(whole)):
        rows = store.training_rows(SQL, batch_rows=60, seed=1, prefetch=stop % 3)
        begun = iter(rows)
        seen = [lines(next(begun)) for _ in range(stop)]
        state = pickle.loads(pickle.dumps(rows.state_dict()))
        for _ in range(2):
            resumed = store.training_rows(SQL, batch_rows=60, seed=1, threads=1)
            resumed.load_state_dict(state)
            assert seen + [lines(batch) for batch in resumed] == whole
    with pytest.raises(tsql.errors.ArgumentError, match="seed"):
        store.training_rows(SQL, batch_rows=60, seed=2).load_state_dict(state)


@pytest.mark.parametrize("world", [2, 3])
def test_ranks_share_the_rows(store: tsql.Store, world: int) -> None:
    parts = [[lines(batch) for batch in store.training_rows(SQL, batch_rows=20, rank=rank, world=world)] for rank in range(world)]
    assert len({len(part) for part in parts}) == 1
    flat = [line for part in parts for batch in part for line in batch]
    assert len(set(flat)) == 456


def test_a_state_of_one_rank_is_that_of_all(store: tsql.Store) -> None:
    def rank(number: int, world: int, **options: object) -> tsql.TrainingRows:
        return store.training_rows(SQL, batch_rows=20, group="graph_id", rank=number, world=world, **options)  # type: ignore[arg-type]

    for before, after in [(1, 2), (2, 1), (2, 3), (3, 2)]:
        ranks = [rank(number, before, pad=False) for number in range(before)]
        taken = [line for one in ranks for batch in itertools.islice(one, 1) for line in lines(batch)]
        states = [one.state_dict() for one in ranks]
        assert len({(state["epoch"], state["batches"]) for state in states}) == 1
        resumed = [rank(number, after, pad=False) for number in range(after)]
        for one in resumed:
            one.load_state_dict(states[0])
        taken += [line for one in resumed for batch in one for line in lines(batch)]
        assert len(taken) == len(set(taken)) == 456


def test_states_of_earlier_versions_count_steps_of_their_rank(store: tsql.Store) -> None:
    rows = store.training_rows(SQL, batch_rows=20, rank=1, world=2)
    state = rows.state_dict()
    del state["batches"], state["recipe"]["pad"]
    rows.load_state_dict(state | {"step": 3})
    assert next(iter(rows)).number == 7


def test_peek_does_not_use_the_batch(store: tsql.Store) -> None:
    rows = store.training_rows(SQL, batch_rows=50, seed=7)
    first = lines(rows.peek())
    assert lines(rows.peek()) == first
    every = [lines(batch) for batch in rows]
    assert every[0] == first and sum(map(len, every)) == 456
    assert rows.peek().epoch == 1 and rows.state_dict()["epoch"] == 1
    with pytest.raises(tsql.errors.EmptyError):
        store.training_rows(f"SELECT * FROM ({SQL}) WHERE false").peek()


def test_padding_is_logged(store: tsql.Store, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", "tsql"):
        store.training_rows(SQL, batch_rows=20, world=4)
    assert "23 batches for 4 ranks: 1 repeated" in caplog.text
    caplog.clear()
    with caplog.at_level("INFO", "tsql"):
        for options in ({"world": 1}, {"world": 4, "pad": False}, {"world": 4, "drop_last": True}, {"world": 23}):
            store.training_rows(SQL, batch_rows=20, **options)  # type: ignore[arg-type]
    assert "repeated" not in caplog.text


def test_groups_stay_together(store: tsql.Store) -> None:
    rows = store.training_rows(SQL, batch_rows=100, group="graph_id", seed=3)
    assert rows.group_count == 5
    seen: set[int] = set()
    for batch in rows:
        assert batch.group_sizes is not None
        groups = numpy.split(batch.numpy()["graph_id"], numpy.cumsum(batch.group_sizes)[:-1])
        for group in groups:
            assert len(set(group.tolist())) == 1 and group[0] not in seen
            seen.add(int(group[0]))
    assert len(seen) == 5
    with pytest.raises(tsql.Error):
        store.training_rows(SQL, group="nothing")


def test_rows_by_number_as_samplers_want_them(store: tsql.Store) -> None:
    rows = store.training_rows(SQL)
    one, other = rows.__getitems__([3, 1])
    assert rows[3] == one and rows[1] == other and rows[-1] == rows[len(rows) - 1]
    assert rows.take([3, 1]).numpy()["x"].shape == (2, 113)
    with pytest.raises(IndexError):
        rows[len(rows)]


def of_child(rows: tsql.TrainingRows, answers: "multiprocessing.Queue[object]") -> None:
    answers.put([lines(batch) for batch in rows])


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_loaders_go_into_other_processes(store: tsql.Store, way: str) -> None:
    rows = store.training_rows(SQL, batch_rows=50, seed=7)
    begun = iter(rows)
    next(begun)
    context = multiprocessing.get_context(way)
    answers = context.Queue()
    child = context.Process(target=of_child, args=(rows, answers))
    child.start()
    told = answers.get(timeout=60)
    child.join(60)
    assert told == [lines(batch) for batch in begun] and child.exitcode == 0


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared files are not here")
def test_graphs_come_with_their_configurations(own: tsql.Store) -> None:
    own.ingest(SHARED / "data" / "tpugraphs")
    files = own.training_files()
    layouts = [file for file in files if file.startswith("layout")]
    step = next(step for step in own.training_graphs(layouts, k=16, pick="gumbel", seed=7) if len(step.numpy()["samples"]))
    layout = step.id
    arrays = step.numpy()
    groups = arrays["codes"].shape[1]
    expanded = arrays["layouts_of_code"][numpy.arange(groups), arrays["codes"]][:, arrays["group_of_slot"]]
    assert (expanded == arrays["layouts"]).all() and arrays["layouts"].shape[0] == 16
    assert arrays["edges"].max() < len(arrays["node_features"]) and arrays["node_features"].shape[1] == 140
    assert arrays["runtimes_ns"].shape == (16,) and (arrays["runtimes_ns"] > 0).all()
    again = own.training_graphs(layouts, k=16, pick="gumbel", seed=7).step(step.epoch, step.step)
    assert all((again.numpy()[name] == array).all() for name, array in arrays.items())
    balanced = own.training_graphs(layouts, k=2, balance="substr(name, 1, 3)")
    assert {step.id for step in balanced} <= set(layouts)
    with pytest.raises(tsql.Error, match="nothing"):
        own.training_graphs(layouts, balance="nothing")
    with pytest.raises(tsql.errors.ArgumentError, match="gumbel"):
        own.training_graphs(layout, pick="nothing")
    with pytest.raises(tsql.errors.UnknownName):
        own.training_graphs("nothing")


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared files are not here")
def test_sampled_configurations_are_scored(own: tsql.Store, tmp_path: Path) -> None:
    own.ingest(SHARED / "data" / "tpugraphs" / "npz" / "layout" / "xla" / "random" / "valid")
    drawn = tmp_path / "xla_random.json"
    drawn.write_text('{"unet_3d.4x4.bf16": [0, 1, 1, 2]}')
    # The truth as a prediction.
    predictions = "(SELECT config_key, min(runtime_ns) AS predicted_ns FROM records GROUP BY config_key)"
    scores = own.score("tpugraphs", predictions, evaluation_indices=drawn)
    assert scores.records == 4
    with pytest.raises(tsql.errors.InputError, match="graphs are not in the store"):
        drawn.write_text('{"unet_3d.4x4.bf16": [0], "other": [0]}')
        own.score("tpugraphs", predictions, evaluation_indices=drawn)
