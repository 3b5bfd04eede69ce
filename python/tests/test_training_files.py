"""Training files, and names of feature elements."""

import json
from pathlib import Path

import numpy
import pytest

import tsql


def test_rows_become_files_that_numpy_reads(tmp_path: Path) -> None:
    store = tsql.sample()
    manifest = store.write_training_files(tmp_path / "rows", ["schedule_numbers", "workload_shape"], file_format="npz")
    (part,) = manifest.parts
    assert part.rows + manifest.excluded.failed == 480
    arrays = numpy.load(tmp_path / "rows" / "all" / "part-00000.npz")
    assert arrays["schedule_numbers"].shape == (part.rows, 113)
    assert arrays["group_sizes"].sum() == part.rows and len(arrays["group_sizes"]) == part.groups
    steps = manifest.features[0].elements.index("steps")
    assert (arrays["schedule_numbers"][:, steps] > 0).all()
    written = json.loads((tmp_path / "rows" / "manifest.json").read_text())
    assert written["rows"]["label"] == "valid" and written["at"] == manifest.at
    verified = store.verify_training_files(tmp_path / "rows")
    assert verified.is_same and verified.rows == part.rows
    (tmp_path / "rows" / "all" / "group_sizes.txt").unlink()
    assert store.verify_training_files(tmp_path / "rows").differences == ["all/group_sizes.txt is missing"]


def test_files_are_the_same_within_a_limit(tmp_path: Path) -> None:
    tsql.create(tmp_path / "store").ingest(Path(__file__).parents[2] / "data" / "epyc-1t")
    for limit in [None, 64 << 20]:
        store = tsql.open(tmp_path / "store", memory_limit=limit)
        store.write_training_files(tmp_path / "rows", ["workload_shape"], file_format="npz", overwrite=limit is not None)
        assert store.verify_training_files(tmp_path / "rows").is_same
    with pytest.raises(tsql.Error, match="memory"):
        tsql.open(tmp_path / "store", memory_limit=1000).write_training_files(tmp_path / "few", ["workload_shape"])


def test_invalid_arguments_are_errors(tmp_path: Path) -> None:
    store = tsql.sample()
    with pytest.raises(tsql.errors.UnknownName, match="tlp_tokens"):
        store.write_training_files(tmp_path / "rows", ["tlp"])
    with pytest.raises(tsql.errors.ArgumentError, match="unknown variant"):
        store.write_training_files(tmp_path / "rows", ["workload_shape"], target="best")
    with pytest.raises(tsql.Error, match="no training file"):
        store.write_graph_files(tmp_path / "graphs", "layout:xla:random")


def test_elements_have_names() -> None:
    (elements,) = tsql.functions("op_histogram")["op_histogram"].elements
    assert (elements.argument_value, len(elements.names), elements.names[26]) == ("", 121, "convolution")
    llvm, cuda = tsql.functions("tlp_tokens")["tlp_tokens"].elements
    assert (llvm.argument_value, len(llvm.names), cuda.argument_value, len(cuda.names)) == ("llvm", 550, "cuda", 800)
