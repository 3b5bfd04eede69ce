"""Computes features of the graphs of npz files with NumPy: counts of opcodes, sums, means and maxima of features, and
nodes near configurable ones: `graph_features.py all FOLDER`. `csr FOLDER EXPORTED` compares training files with the
originals."""

import hashlib
import json
import pathlib
import sys

import numpy


def near(arrays, hops):
    """Returns the nodes at most `hops` edges away from a configurable one."""
    nodes = len(arrays["node_opcode"])
    reached = numpy.zeros(nodes, bool)
    reached[arrays["node_config_ids"]] = True
    users, operands = arrays["edge_index"].T
    for _ in range(hops):
        further = reached.copy()
        further[operands[reached[users]]] = True
        further[users[reached[operands]]] = True
        reached = further
    return numpy.flatnonzero(reached)


def features_of(path):
    arrays = numpy.load(path)
    features = arrays["node_feat"].astype(numpy.float64)
    known = {
        "histogram": numpy.bincount(arrays["node_opcode"], minlength=121),
        "sum": features.sum(0).astype(numpy.float32),
        "mean": features.mean(0).astype(numpy.float32),
        "max": features.max(0).astype(numpy.float32),
    }
    if "node_config_ids" in arrays.files:
        known |= {f"near_{hops}": near(arrays, hops) for hops in (0, 1, 3)}
    # 32-bit numbers, which the test compares by their bits.
    return {name: [float(value) for value in values] for name, values in known.items()}


def name_of(path):
    *_, source, search, _, _ = path.parts
    layout = "layout" in path.parts
    collection = f"layout:{source}:{search}" if layout else f"tile:{search}"
    return f"{collection}:{path.stem}"


def compare(path, exported):
    old, new = numpy.load(path), numpy.load(exported)
    users = numpy.repeat(numpy.arange(len(new["indptr"]) - 1), numpy.diff(new["indptr"]))
    assert (numpy.stack([users, new["indices"]], 1) == old["edge_index"]).all(), path
    for name in ("node_feat", "node_opcode", "config_runtime"):
        assert (old[name] == new[name]).all(), (path, name)
    if "node_config_feat" in old.files:
        picked = new["layouts"][numpy.arange(new["codes"].shape[1]), new["codes"]][:, new["group_of_slot"]]
        assert (picked == old["node_config_feat"]).all(), path
        assert (new["node_config_ids"] == old["node_config_ids"]).all(), path
    else:
        assert (new["config_feat"] == old["config_feat"]).all(), path
        assert (new["config_runtime_normalizers"] == old["config_runtime_normalizers"]).all(), path


if sys.argv[1] == "csr":
    folder, exported = map(pathlib.Path, sys.argv[2:4])
    manifest = json.loads((exported / "manifest.json").read_text())
    files = {file["path"]: file for part in manifest["parts"] for file in part["files"]}
    for path in folder.rglob("*.npz"):
        *collection, stem = name_of(path).split(":")
        own = f"{path.parts[-2]}/{'-'.join(collection)}/{stem}.npz"
        compare(path, exported / own)
        assert hashlib.sha256((exported / own).read_bytes()).hexdigest() == files.pop(own)["sha256"], own
    assert not files, files
    print(json.dumps({"parts": {part["name"]: part["groups"] for part in manifest["parts"]}}))
else:
    print(json.dumps({name_of(path): features_of(path) for path in pathlib.Path(sys.argv[2]).rglob("*.npz")}))
