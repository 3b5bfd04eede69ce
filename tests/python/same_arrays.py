"""Compares two trees of npz files as NumPy loads them: names, order, types, shapes, bytes."""

import json
import pathlib
import sys

import numpy

left, right = map(pathlib.Path, sys.argv[1:3])
files = sorted(left.rglob("*.npz"))
for path in files:
    a, b = numpy.load(path), numpy.load(right / path.relative_to(left))
    assert a.files == b.files, (path, a.files, b.files)
    for name in a.files:
        x, y = a[name], b[name]
        form = lambda array: (array.dtype, array.shape, array.flags.c_contiguous, array.flags.f_contiguous)
        assert form(x) == form(y), (path, name)
        assert x.tobytes("A") == y.tobytes("A"), (path, name)
print(json.dumps({"files": len(files)}))
