"""The package itself: what it says of itself is so."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
from pathlib import Path

import pytest
from conftest import CHECKOUT

import tsql

MODULES = [one.name for one in pkgutil.iter_modules(tsql.__path__) if one.name not in ("_native", "_torch", "__main__")]


@pytest.mark.parametrize("name", ["", *MODULES])
def test_examples_of_docstrings_run(name: str) -> None:
    module = importlib.import_module(f"tsql.{name}" if name else "tsql")
    assert doctest.testmod(module).failed == 0


def test_examples_of_the_readme_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = doctest.testfile(str(CHECKOUT / "README.md"), module_relative=False)
    assert done.failed == 0 and done.attempted >= 8


def test_all_that_is_public_is_explained() -> None:
    for name in tsql.__all__:
        thing = getattr(tsql, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        assert thing.__doc__, name
        for part, value in inspect.getmembers(thing, lambda one: inspect.isfunction(one) or isinstance(one, property)):
            own = part in vars(thing) if inspect.isclass(thing) else False
            assert part.startswith("_") or not own or value.__doc__, f"{name}.{part}"


def test_all_errors_of_the_library_have_a_class() -> None:
    kinds = (CHECKOUT / "crates" / "error" / "src" / "kind.rs").read_text()
    told = {line.split('"')[1] for line in kinds.splitlines() if "=> \"" in line}
    known = set(tsql.errors._CLASSES)
    assert told - known == {"interrupted", "internal"} and known <= told
