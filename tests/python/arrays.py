"""Writes npz files with NumPy into a folder, and prints their rows: arrays.py FOLDER

With --of FILE NAMES: prints the rows of these arrays of a file.
"""

import json
import pathlib
import sys

import numpy as np


def plain(value):
    """Returns a value for JSON."""
    if isinstance(value, np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else str(value)
    if isinstance(value, np.float16):
        return float(value)
    return value.item() if isinstance(value, np.generic) else value


def rows(arrays):
    """Returns one object for each row."""
    count = max((len(array) for array in arrays.values() if array.ndim), default=1)
    row = lambda place: {name: plain(array[place] if array.ndim else array[()]) for name, array in arrays.items()}
    return [row(place) for place in range(count)]


def write(folder):
    """Writes the files. Returns the rows of those that are tables."""
    kinds = {
        "i": np.arange(5) - 2,
        "x": np.array([0.5, -0.25, 1e300, 0, 3]),
        "f": np.array([0.5, -0.25, 8, 0, 3], dtype=np.float32),
        "h": np.array([0.5, -0.25, 8, 0, 3], dtype=np.float16),
        "b": np.array([True, False, True, True, False]),
        "big": np.array([1, -2, 70000, 4, 5], dtype=">i4"),
        "byte": np.array([0, 255, 1, 2, 3], dtype=np.uint8),
        "name": np.array(["a", "größe", "", "d e", "\U0001f600"]),
        "day": np.array(["2024-02-29", "NaT", "1969-12-31", "2000-01-01", "2024-05-06"], dtype="M8[D]"),
        "at": np.array(["2024-02-29T01:02:03.000004", "NaT"] + 3 * ["1969-12-31T23:59:59.500001"], dtype="M8[us]"),
        "version": np.array(7),
    }
    cube = np.arange(30, dtype=np.int16).reshape(5, 2, 3)
    lists = {
        "m": np.arange(10, dtype=np.float64).reshape(5, 2) / 4,
        "turned": np.asfortranarray(np.arange(10).reshape(5, 2)),
        "cube": cube,
        "turned_cube": np.asfortranarray(cube),
        "none": np.zeros((5, 0)),
    }
    many = {"n": np.arange(20_000), "m": (np.arange(2_000_000) % 251).reshape(20_000, 100).astype(np.float32)}
    np.savez(folder / "kinds.npz", **kinds)
    np.savez_compressed(folder / "lists.npz", **lists)
    np.savez_compressed(folder / "many.npz", **many)
    np.savez(folder / "scalars.npz", a=1, b="two")
    np.savez(folder / "empty.npz", a=np.zeros(0), version=7)
    (folder / "parts").mkdir()
    np.savez(folder / "parts" / "1.npz", a=np.arange(2), m=np.zeros((2, 2)))
    np.savez(folder / "parts" / "2.npz", a=np.arange(2, 4), m=np.ones((2, 2)))
    np.savez(folder / "parts" / "3.npz", m=np.ones((1, 2)), a=np.array([4.5]))
    np.savez(folder / "lengths.npz", a=np.arange(3), b=np.zeros((3, 4)), c=np.arange(2), what=np.array([None]))
    np.savez(folder / "complex.npz", a=np.array([1j]))
    return {
        "kinds": rows(kinds),
        "lists": rows(lists),
        "scalars": [{"a": 1, "b": "two"}],
        "sums": [{"n": int(many["n"].sum()), "m": float(many["m"][:, 99].sum())}],
    }


if sys.argv[1] == "--of":
    loaded = np.load(sys.argv[2])
    print(json.dumps(rows({name: loaded[name] for name in sys.argv[3].split(",")})))
else:
    print(json.dumps(write(pathlib.Path(sys.argv[1]))))
