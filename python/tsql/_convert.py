"""Conversions between the native module and other packages."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from os import fspath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from . import _native
from .errors import ArgumentError, Error

if TYPE_CHECKING:
    import numpy
    import torch


def is_table(value: Any) -> bool:
    """Returns whether a value exports rows through Arrow's interface."""
    return hasattr(value, "__arrow_c_stream__") or hasattr(value, "__arrow_c_array__")


UNLIMITED = 0
"""Memory limit of the native module for `"none"`."""


def size_bytes(size: int | str | None) -> int | None:
    """Returns a memory limit in bytes.

    Args:
        size: Number of bytes, or a text like `"500MB"` or `"2GiB"`, or `"none"`.

    Returns:
        Number of bytes; `UNLIMITED` for `"none"`; `None` for the default.

    Raises:
        tsql.errors.ArgumentError: If the size is invalid.
    """
    if size == "none":
        return UNLIMITED
    if isinstance(size, str):
        return _native.size_bytes(size)
    if size is not None and size <= 0:
        expected = "expected bytes above 0, a text like 2GiB, or none"
        raise ArgumentError(f"`{size}` is not a size, {expected}", name="memory_limit")
    return size


@contextmanager
def as_file(given: Any) -> Generator[str, None, None]:
    """Provides a table as a file. Messages name the type of the table in place of the file.

    Args:
        given: A table; or a path or a query, which stays as it is.

    Yields:
        Path or query.
    """
    if not is_table(given):
        yield fspath(given)
        return
    kind = type(given).__name__
    with TemporaryDirectory(prefix="tsql-") as folder:
        file = f"{folder}/{kind}.arrow"
        _native.write_arrow(given, file)
        try:
            yield file
        except Error as error:
            error.message = error.message.replace(file, kind)
            error.args = (error.message,)
            raise


def numpy_arrays(arrays: dict[str, Any]) -> dict[str, numpy.ndarray[Any, Any]]:
    """Returns columns as NumPy arrays.

    Args:
        arrays: Columns by name: buffer, dtype, shape and mask of NULLs, or a list of values.

    Returns:
        Arrays by name.
    """
    import numpy

    converted: dict[str, numpy.ndarray[Any, Any]] = {}
    for name, column in arrays.items():
        if isinstance(column, list):
            values = numpy.empty(len(column), dtype=object)
            values[:] = column
            converted[name] = values
            continue
        buffer, dtype, shape, nulls = column
        values = numpy.frombuffer(buffer, dtype=dtype).reshape(shape)
        if nulls is not None:
            mask = numpy.frombuffer(nulls, dtype="?")
            converted[name] = numpy.ma.masked_array(values, mask=mask)
            continue
        converted[name] = values
    return converted


def torch_tensors(arrays: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Returns columns as tensors.

    Args:
        arrays: Columns by name: buffer, dtype, shape and mask of NULLs, or a list of values.

    Returns:
        Tensors by name.

    Raises:
        TypeError: If a column is not numeric, or has NULLs.
    """
    import torch

    kinds = {
        "?": torch.bool,
        "<i1": torch.int8,
        "<i2": torch.int16,
        "<i4": torch.int32,
        "<i8": torch.int64,
        "<u1": torch.uint8,
        "<u2": torch.uint16,
        "<u4": torch.uint32,
        "<f2": torch.float16,
        "<f4": torch.float32,
        "<f8": torch.float64,
    }
    converted: dict[str, torch.Tensor] = {}
    for name, column in arrays.items():
        if isinstance(column, list) or column[1] not in kinds:
            raise TypeError(f"column `{name}` is not numeric, expected numbers\nhint: cast it in SQL, or leave it out")
        buffer, dtype, shape, nulls = column
        if nulls is not None:
            raise TypeError(f"column `{name}` has NULLs\nhint: coalesce({name}, ...) replaces them in SQL")
        if 0 in shape:
            converted[name] = torch.empty(shape, dtype=kinds[dtype])
            continue
        converted[name] = torch.frombuffer(buffer, dtype=kinds[dtype]).reshape(shape)
    return converted
