"""A stand-in for torch, which is too large for CI: what `tsql` uses of it, with NumPy's arrays as tensors.

`utils.data` has the `DataLoader`, as torch 2.15 works: `test_torch.py` is the same with torch itself.
"""

from __future__ import annotations

import tempfile
from typing import Any

import numpy

bool = numpy.dtype("?")
int8, int16, int32, int64 = (numpy.dtype(f"<i{size}") for size in (1, 2, 4, 8))
uint8, uint16, uint32, uint64 = (numpy.dtype(f"<u{size}") for size in (1, 2, 4, 8))
float16, float32, float64 = (numpy.dtype(f"<f{size}") for size in (2, 4, 8))

frombuffer, empty = numpy.frombuffer, numpy.empty
_files: list[Any] = []


class Tensor(numpy.memmap):  # type: ignore[type-arg]
    """An array that other processes share."""

    def share_memory_(self) -> Tensor:
        return self

    def __reduce__(self) -> Any:
        return _shared, (str(self.filename), self.dtype, self.shape)


def _shared(file: str, dtype: Any, shape: Any) -> Tensor:
    return Tensor(file, dtype, "r+", shape=shape)


def zeros(count: int, dtype: Any) -> Tensor:
    file = tempfile.NamedTemporaryFile()
    file.truncate(count * dtype.itemsize)
    _files.append(file)
    return _shared(file.name, dtype, (count,))
