"""Compares a batch that tsql wrote with the rows that NumPy reads from the file of the release."""

import json
import sys

import numpy

whole, step = (numpy.load(path) for path in sys.argv[1:3])
samples = step["sample"]
wanted = whole["node_config_feat"][samples]
if "codes" in step.files:
    groups = numpy.arange(len(step["layouts"]))
    found = step["layouts"][groups, step["codes"]][:, step["group_of_slot"]]
else:
    found = step["node_config_feat"]
assert found.shape == wanted.shape and (found == wanted).all()
assert (whole["config_runtime"][samples] == step["config_runtime"]).all()
for name in ("node_feat", "node_opcode", "edge_index", "node_config_ids", "node_splits"):
    assert whole[name].dtype == step[name].dtype and (whole[name] == step[name]).all(), name
print(json.dumps({"samples": len(set(samples.tolist()))}))
