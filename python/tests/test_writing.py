"""Calls that change a store, and their reports."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import polars
import pytest
from conftest import DATA, SHARED

import tsql


def record(number: int) -> dict[str, Any]:
    return {"workload_key": ["mm", {"M": 512}], "steps": {"TILE": number}, "repeats_ns": [4210, 4198.5]}


def count(store: tsql.Store) -> int:
    found = store.sql("SELECT count(*) FROM records").scalar()
    assert isinstance(found, int)
    return found


def test_ingests_report_and_skip_known_files(own: tsql.Store) -> None:
    heard: list[tuple[str, int, int]] = []
    report = own.ingest(DATA / "epyc-1t", labels={"night": "7"}, progress=lambda *now: heard.append(now))
    assert (report.records, report.files, report.is_clean, report.platforms) == (240, 5, True, ["epyc-1t"])
    assert heard and heard[-1][1] > 0
    again = own.ingest([DATA / "epyc-1t"])
    assert (again.records, again.unchanged_files) == (0, 5) and count(own) == 240
    assert own.sql("SELECT DISTINCT value FROM labels WHERE key = 'night'").rows() == [("7",)]
    with pytest.raises(tsql.errors.InputError):
        own.ingest("/nowhere/at/all")
    with pytest.raises(tsql.errors.ArgumentError):
        own.ingest(DATA / "epyc-2t", labels={"not a key!": "x"})


def test_an_edited_file_replaces_its_earlier_version(own: tsql.Store, tmp_path: Path) -> None:
    log = tmp_path / "epyc-1t" / "tuned.json"
    log.parent.mkdir()
    lines = (DATA / "epyc-1t" / "softmax-256x480.json").read_text().splitlines(keepends=True)
    log.write_text("".join(lines))
    records = own.ingest(log, platform="epyc").records
    log.write_text("".join(lines[:20] + lines[21:]))
    report = own.ingest(log, platform="epyc", replace=True)
    assert [file.records for file in report.replaced_files] == [records]
    assert count(own) == records - 1
    with pytest.raises(tsql.errors.ArgumentError):
        own.ingest(log, replace=True, dry_run=True)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared files are not here")
def test_databases_are_exported_as_they_came(own: tsql.Store, tmp_path: Path) -> None:
    source = SHARED / "data" / "metaschedule" / "cpu-gmm-0.27"
    own.ingest([source, DATA / "epyc-1t"], platform="cpu")
    exported = own.export_databases(tmp_path / "out", where="platform = 'cpu'")
    assert exported.is_clean and len(exported.databases) == 1
    written = sorted(file.read_bytes() for file in (tmp_path / "out" / exported.databases[0].folder).iterdir())
    assert written == sorted(file.read_bytes() for file in source.iterdir())
    (tmp_path / "out" / exported.databases[0].folder / "database_workload.json").write_text("mine")
    assert not own.export_databases(tmp_path / "out").is_clean
    assert own.export_databases(tmp_path / "out", overwrite=True).is_clean


def test_exceptions_of_a_progress_callback_end_an_ingest(own: tsql.Store) -> None:
    def heard(what: str, done: int, of: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        own.ingest(DATA, progress=heard)
    assert own.ingest(DATA).records + 0 >= 0 and own.check().is_sound
    assert own.ingest(DATA).records == 0


def test_streams_take_records_of_all_kinds_once(own: tsql.Store) -> None:
    lines = [json.dumps(record(3)), json.dumps(record(4)).encode()]
    frame = polars.DataFrame({"workload_key": ["w"] * 2, "steps": ["a", "b"], "repeats_ns": [[1.0, 2.0], [3.0]]})
    for _ in range(2):
        with own.append("night/7", platform="a100", labels={"night": "7"}) as stream:
            stream.write(record(1))
            stream.write([record(2)])
            stream.write(lines)
            stream.write(frame)
            assert stream.flush() == 6 == stream.durable_lines
        assert stream.report is not None
        assert count(own) == 6
    assert stream.report.records == 0
    with pytest.raises(tsql.errors.ClosedError):
        stream.write(record(5))
    with pytest.raises(tsql.errors.UnknownName):
        own.append("x", platform="a100", format="nothing")


def test_a_generator_that_throws_leaves_no_half_record(own: tsql.Store) -> None:
    def records() -> Iterator[dict[str, Any]]:
        for number in range(2500):
            yield record(number)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), own.append("s", platform="a100") as stream:
        stream.write(records())
    before = count(own)
    assert before <= 2500 and own.check().is_sound
    with own.append("s", platform="a100") as stream:
        stream.write(record(number) for number in range(2500))
    assert count(own) == 2500
    assert own.sql("SELECT count(*) FROM rejects").scalar() == 0


def test_rejected_lines_are_reported(own: tsql.Store) -> None:
    with own.append("s", platform="a100") as stream:
        stream.write([record(1), {"nothing": 1}])
    assert stream.report is not None
    assert stream.report.records == 1 and stream.report.first_rejects[0][1] == 2
    with pytest.raises(tsql.errors.InputError) as rejected, own.append("t", platform="a100", strict=True) as stream:
        stream.write({"nothing": 1})
    assert rejected.value.line == 1


def test_tags_notes_versions_and_differences(own: tsql.Store) -> None:
    own.ingest(DATA / "epyc-1t")
    tag = own.tag("v1", note="first")
    before = own.version
    own.ingest(DATA / "epyc-2t")
    assert [one.name for one in own.tags] == ["v1"] and tag.versions["records"] >= 0
    assert count(own.at("v1")) == 240 == count(own.at(before)) and count(own) == 480
    diff = own.at("v1").diff(own)
    assert {one.kind: one.added for one in diff.counts if one.platform is None}["records"] == 240
    assert len(diff.sources) == 5 and diff.sources[0].records_before is None
    note = own.note("the fan was loud", platform="epyc-2t", author="me")
    assert own.notes == [note] and note.targets[0].platform == "epyc-2t"
    with pytest.raises(tsql.errors.ArgumentError):
        own.note("of nothing")
    own.delete_note(note.note_id)
    own.delete_tag("v1")
    assert own.tags == [] == own.notes and own.history()[0].version >= 0
    with pytest.raises(tsql.errors.ReadOnlyError):
        own.at(before).ingest(DATA / "epyc-2t")
    with pytest.raises(tsql.errors.NoVersion):
        own.at("records@999")


def test_retracted_records_are_restored(own: tsql.Store) -> None:
    own.ingest(DATA / "epyc-1t")
    gone = own.retract("line < 10", why="cold caches")
    assert gone.records > 0 and count(own) == 240 - gone.records
    assert own.restore("line < 10", all=True).records == gone.records and count(own) == 240
    own.correct({"platform": "epyc"}, where="platform = 'epyc-1t'", why="a typing mistake", all=True)
    assert own.sql("SELECT DISTINCT platform FROM records").rows() == [("epyc",)]
    assert [one.kind for one in own.corrections] and {one.why for one in own.corrections} >= {"a typing mistake"}


def test_reports_of_streams_have_the_platform(own: tsql.Store) -> None:
    record = {"workload_key": ["mm", {"M": 512}], "steps": {"TILE": 8}, "repeats_ns": [4210, 4198.5]}
    with own.append("night-7", platform="a100") as stream:
        stream.write(record)
    assert stream.report is not None
    assert stream.report.platforms == ["a100"]


def test_maintenance_and_exports(own: tsql.Store, tmp_path: Path) -> None:
    own.ingest(DATA / "epyc-1t")
    planned = own.optimize(dry_run=True)
    assert planned.files_before > 0
    assert planned.files_after == 0
    assert own.optimize().bytes_after > 0 and own.data_bytes > 0
    assert own.check().is_sound and own.repair() == [] and isinstance(own.vacuum(dry_run=True), list)
    exported = own.export(tmp_path / "back")
    assert exported.is_clean and exported.files == 5
    for file in (DATA / "epyc-1t").iterdir():
        found = list((tmp_path / "back").rglob(file.name))
        assert found and found[0].read_bytes() == file.read_bytes()
    other = tsql.create(tmp_path / "other")
    assert own.copy_to(other).records == 240 == count(other)
    published = own.publish(tmp_path / "published", title="Ours", license="Apache-2.0")
    assert published.file_count > 3 and tsql.verify(tmp_path / "published").is_whole
    next((tmp_path / "published").rglob("*.parquet")).write_bytes(b"")
    assert not tsql.verify(tmp_path / "published").is_whole
    with pytest.raises(TypeError, match="titel"):
        own.publish(tmp_path / "p", titel="x")


def test_facts_of_platforms(own: tsql.Store) -> None:
    own.ingest(DATA / "epyc-2t")
    stated = own.platform_facts("epyc-2t")
    assert [(fact.fact, fact.value, fact.set_at_us) for fact in stated] == [("cores", 2.0, None)]
    facts = own.set_platform("epyc-2t", peak_flop_per_s=9e10, bandwidth_bytes_per_s="20GB/s", source="measured", author="me")
    assert facts.has_records and facts.unchanged == 0
    assert [(fact.fact, fact.value) for fact in facts.written] == [("bandwidth_bytes_per_s", 2e10), ("peak_flop_per_s", 9e10)]
    again = own.set_platform("epyc-2t", peak_flop_per_s="90 GFLOPS", source="measured")
    assert (again.unchanged, again.written) == (1, [])
    ridge = own.sql("SELECT peak_flop_per_s / bandwidth_bytes_per_s AS x FROM platforms WHERE platform = 'epyc-2t'")
    assert ridge.scalar() == 4.5
    with pytest.raises(tsql.errors.ArgumentError, match="`-1` is not a value of clock_hz"):
        own.set_platform("epyc-2t", clock_hz=-1, source="x")
    with pytest.raises(tsql.errors.ArgumentError, match="no fact to set"):
        own.set_platform("epyc-2t", source="x")
    own.unset_platform("epyc-2t", "peak_flop_per_s")
    with pytest.raises(tsql.errors.ArgumentError, match=r"store\.platform_facts\(\"epyc-2t\"\)"):
        own.unset_platform("epyc-2t", "peak_flop_per_s")


def test_comparisons_reports_and_subsets(store: tsql.Store, own: tsql.Store, tmp_path: Path) -> None:
    found = store.compare("epyc-1t", "epyc-2t", allowed_regression=0.05, plot=tmp_path / "speedups.svg")
    assert found.all.pairs > 100 and found.all.speedup is not None and found.all.speedup > 1
    assert found.rule == "runs" and found.unclear_reasons["no_floor"] > 200 and sum(found.unclear_reasons.values()) == found.all.pairs
    assert found.undecided == found.all.pairs and found.all.speedup_low is None
    ranks = store.compare("epyc-1t", "epyc-2t", rule="ranks")
    assert ranks.all.faster > 100 and ranks.all.speedup_low is not None
    assert "<svg" in (tmp_path / "speedups.svg").read_text()
    report = store.report_graphnet(folder=tmp_path / "report")
    assert report.curves and report.curves[0].points and list((tmp_path / "report").glob("*.png"))
    own.ingest(DATA / "epyc-1t")
    pairs = "SELECT value, value % 3 FROM range(30)"
    grid = [own.subset("grid", pairs, tasks=2, programs=programs, seed=3).members for programs in (2, 4)]
    assert len(grid[0]) == 4 and set(grid[0]) < set(grid[1])
    with pytest.raises(tsql.errors.ArgumentError, match="`tasks` with `programs`"):
        own.subset("grid", tasks=1)
    made = own.subset("few", "SELECT DISTINCT line FROM records", random=5, seed=1)
    assert (made.version, len(made.members)) == (1, 5) and own.subset("few") == made


def test_splits_in_sql_and_in_loaders(own: tsql.Store) -> None:
    own.ingest([DATA / "epyc-1t", DATA / "epyc-2t"])
    made = own.create_split("by-dag", unit="dag", ratio="1/0/1", seed=1)
    assert made.is_new and made.split.full_name == "by-dag@1" and own.splits == [made.split]
    counts = {part.part: part.record_count for part in made.parts}
    rows = own.sql("SELECT split('by-dag@1') AS part, count(*) AS n FROM records GROUP BY part").rows()
    assert dict(rows) == counts and sum(counts.values()) == 480
    train = own.training_rows("SELECT config_id FROM records WHERE split('by-dag') = 'train'")
    assert sum(len(batch) for batch in train) == counts["train"]
    found = own.split_leaks("by-dag")
    assert found.is_clean and found.levels[3].level == "L3" and found.levels[3].leaking_unit_count == 0
    with pytest.raises(tsql.errors.ArgumentError):
        own.create_split("both", unit="dag", preset="tlp-five")
    with pytest.raises(tsql.Error, match="did you mean `task`"):
        own.create_split("x", unit="taks")
    assert own.delete_split("by-dag") == 1 and own.splits == []


def test_features_of_others_become_columns_of_training_files(own: tsql.Store, tmp_path: Path) -> None:
    own.ingest(DATA / "epyc-1t")
    keys = own.sql("SELECT DISTINCT config_key FROM configurations ORDER BY 1").rows()
    numbers = numpy.arange(len(keys) * 3, dtype=numpy.float32).reshape(-1, 3)
    binary = numpy.array([list(bytes.fromhex(key)) for (key,) in keys], dtype=numpy.uint8)
    numpy.savez(tmp_path / "tvm.npz", config_key=binary, feature=numbers)
    imported = own.import_features(tmp_path / "tvm.npz", "tvm")
    assert imported.is_clean and (imported.added, imported.number_count, imported.missing) == (len(keys), 3, 0)
    assert own.import_features(tmp_path / "tvm.npz", "tvm").unchanged == len(keys)
    manifest = own.write_training_files(tmp_path / "files", ["tvm"], file_format="npz", group=None)
    assert (manifest.features[0].name, manifest.features[0].version) == ("tvm@1", 1)
    arrays = numpy.load(tmp_path / "files" / "all" / "part-00000.npz")
    place = {key: row for row, (key,) in enumerate(keys)}
    rows = [place[key if isinstance(key, str) else key.decode()] for key in arrays["config_key"].tolist()]
    assert len(rows) > 200 and (arrays["tvm"] == numbers[rows]).all()
    numpy.savez(tmp_path / "other.npz", config_key=binary[:2], feature=numpy.zeros((2, 4), numpy.float32))
    rejected = own.import_features(tmp_path / "other.npz", "tvm")
    assert rejected.rejected == {"other_length": 2} and rejected.rejected_rows[0].line == 1


COMPUTED = "(SELECT config_key, schedule_numbers(steps) AS x FROM configurations)"


def test_reports_have_a_field_for_each_key(store: tsql.Store, own: tsql.Store) -> None:
    texts = {
        tsql.reports.Ingested: own._native.ingest([str(DATA / "epyc-1t")], _plain(), None),
        tsql.reports.Checked: own._native.check(None, None),
        tsql.reports.Optimized: own._native.optimize(False, False, None, None),
        tsql.reports.Comparison: store._native.compare("epyc-1t", "epyc-2t", None, False, None, None, 1, None, False, []),
        tsql.reports.Copied: own._native.copy_to(tsql.create("memory:")._native, None, True, None),
        tsql.reports.Tag: own._native.create_tag("t", None),
        tsql.reports.CreatedSplit: own._native.create_split("s", _split()),
        tsql.reports.SplitLeaks: own._native.check_split("s", None),
        tsql.reports.FeaturesImported: own._native.import_features(COMPUTED, "mine", None, None),
    }
    for kind, text in texts.items():
        value = json.loads(text)
        assert set(value) == {field.name for field in dataclasses.fields(kind)}, kind


def _split() -> dict[str, Any]:
    names = ("preset", "ratio", "hold_out", "query")
    return {**dict.fromkeys(names), "unit": "task", "seed": 0}


def _plain() -> dict[str, Any]:
    names = ("platform", "graph", "map", "commit", "measured_at", "graph_parameters", "format", "threads", "part")
    return {**dict.fromkeys(names), "labels": [], "strict": False, "dry_run": False, "replace": False}
