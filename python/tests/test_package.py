"""The package as a whole: examples in docstrings, documentation of the public names, earlier names."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from conftest import CHECKOUT

import tsql

OPTIONAL = ("__main__", "_magic", "_native", "_torch", "sqlalchemy")

MODULES = [
    "tsql",
    *(f"tsql.{one.name}" for one in pkgutil.iter_modules(tsql.__path__) if one.name not in OPTIONAL),
]


class Finder(doctest.DocTestFinder):
    """Finds examples of decorated functions, too."""

    def _from_module(self, module: ModuleType, object: Any) -> bool:
        plain = inspect.unwrap(object) if inspect.isfunction(object) else object
        return super()._from_module(module, plain)  # type: ignore[misc, no-any-return]


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [test for test in Finder().find(module, name) if test.examples]


@pytest.mark.parametrize("name", [name for name in MODULES if examples(name)])
def test_examples_of_docstrings_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("TSQL_STATE", str(tmp_path))
    runner = doctest.DocTestRunner()
    for test in examples(name):
        runner.run(test)
    assert runner.summarize().failed == 0


def test_there_are_examples_of_most_calls() -> None:
    tests = [test for name in MODULES for test in examples(name)]
    assert len(tests) >= 100 and sum(len(test.examples) for test in tests) >= 300


def test_examples_of_the_readme_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    done = doctest.testfile(str(CHECKOUT / "README.md"), module_relative=False)
    assert done.failed == 0 and done.attempted >= 8


def public_things() -> dict[str, Any]:
    """Public classes and functions, with their methods and properties, by name."""
    found: dict[str, Any] = {}
    for module in (tsql, tsql.dbapi, tsql.errors, tsql.measure, tsql.reports):
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)) or not thing.__module__.startswith("tsql"):
                continue
            found[f"{module.__name__}.{name}"] = thing
            for member, value in inspect.getmembers(thing) if inspect.isclass(thing) else []:
                is_own = (getattr(inspect.unwrap(value), "__module__", "") if inspect.isfunction(value) else "tsql").startswith("tsql")
                if not member.startswith("_") and is_own and (inspect.isfunction(value) or isinstance(value, property)):
                    found[f"{module.__name__}.{name}.{member}"] = value
    return found


def sections(doc: str) -> dict[str, str]:
    """Sections of a docstring in Google style."""
    parts = re.split(r"^(Args|Returns|Raises|Yields|Attributes|Examples):\n", inspect.cleandoc(doc), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def entries(section: str) -> list[str]:
    """Names that a section explains."""
    return re.findall(r"^    \**([\w.]+): \S", section, re.MULTILINE)


@pytest.mark.parametrize("name", public_things())
def test_public_names_are_documented(name: str) -> None:
    thing = public_things()[name]
    doc = thing.__doc__
    assert doc, name
    summary, _, rest = inspect.cleandoc(doc).partition("\n")
    assert summary.endswith((".", "`.")) and not rest.startswith("\n\n") and (not rest or rest.startswith("\n")), summary
    if isinstance(thing, property):
        return
    found = sections(doc)
    if inspect.isfunction(thing) and not summary.startswith("Returns the same as"):
        signature = inspect.signature(thing)
        arguments = [one for one in signature.parameters if one != "self"]
        assert entries(found.get("Args", "")) == arguments, name
        assert signature.return_annotation in ("None", None) or found.keys() & {"Returns", "Yields"}, name
    fields = getattr(thing, "__dataclass_fields__", None)
    if fields is not None and inspect.isclass(thing):
        inherited = getattr(thing.__mro__[1], "__dataclass_fields__", {})
        assert entries(found["Attributes"]) == [field for field in fields if field not in inherited], name


def test_all_errors_of_the_library_have_a_class() -> None:
    kinds = (CHECKOUT / "crates" / "error" / "src" / "kind.rs").read_text()
    defined = {line.split('"')[1] for line in kinds.splitlines() if "=> \"" in line}
    known = set(tsql.errors._CLASSES)
    assert defined - known == {"interrupted", "internal"} and known <= defined


def test_dir_lists_the_public_names_alone() -> None:
    for module in (tsql, tsql.errors, tsql.measure, tsql.reports):
        assert dir(module) == sorted(module.__all__), module.__name__
        assert all(hasattr(module, name) for name in dir(module))
    assert not hasattr(tsql, "Any") and not hasattr(tsql, "TYPE_CHECKING") and not hasattr(tsql, "importlib")


def test_earlier_names_of_classes_and_attributes_warn() -> None:
    for earlier, now in tsql.reports._EARLIER_NAMES.items():
        with pytest.warns(DeprecationWarning, match=now):
            assert getattr(tsql.reports, earlier) is getattr(tsql.reports, now)
    with pytest.raises(AttributeError):
        _ = tsql.reports.Nothing
    store = tsql.create("memory:")
    with pytest.warns(DeprecationWarning, match="queries"):
        assert "platform-summary" in store.questions  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="repair"):
        assert store.mend() == []  # type: ignore[attr-defined]
    with pytest.warns(DeprecationWarning, match="repairs"):
        assert store.check().mendable == []  # type: ignore[attr-defined]
    with pytest.raises(tsql.errors.UnknownName) as unknown:
        store.sql("SELECT $platform", {"platfrom": "t4"})
    with pytest.warns(DeprecationWarning, match="known_names"):
        assert unknown.value.known == ["platform"]  # type: ignore[attr-defined]


def test_earlier_names_of_arguments_warn() -> None:
    store = tsql.create("memory:")
    with pytest.warns(DeprecationWarning, match="shard="):
        store.optimize(part=(1, 2))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="`shard` and its earlier name `part`"):
        store.optimize(part=(1, 2), shard=(1, 2))  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="piece"):
        store.optimize(piece=(1, 2))  # type: ignore[call-arg]


def test_the_page_of_renames_has_all_earlier_names() -> None:
    page = (CHECKOUT / "docs" / "reference" / "renames.md").read_text().split("\n## Python\n")[1]
    rows = dict(re.findall(r"^\| `([^`]+)` \| `([^`]+)` \|$", page, re.MULTILINE))
    expected = {f"tsql.reports.{old}": f"tsql.reports.{new}" for old, new in tsql.reports._EARLIER_NAMES.items()}
    for name, thing in public_things().items():
        owner = name.split(".")[-1]
        if inspect.isclass(thing):
            expected |= {f"{owner}.{old}": f"{owner}.{new}" for old, new in getattr(thing, "_earlier_names", {}).items()}
    for name, thing in public_things().items():
        earlier = getattr(thing, "_earlier_arguments", {})
        call = ".".join(name.split(".")[-2:])
        expected |= {f"{call}({old}=)": f"{call}({new}=)" for old, new in earlier.items()}
    assert rows == expected


def test_the_reference_lists_all_public_names() -> None:
    page = (CHECKOUT / "docs" / "reference" / "python.md").read_text()
    listed = re.findall(r"^::: ([\w.]+)$", page, re.MULTILINE)
    assert len(listed) == len(set(listed)) and not [name for name in listed if "._" in name]
    modules = {"dbapi", "errors", "measure", "reports", "Error", "__version__"}
    expected = {f"tsql.{name}" for name in tsql.__all__ if name not in modules}
    expected |= {f"tsql.reports.{name}" for name in tsql.reports.__all__ if name not in tsql.measure.__all__}
    aliases = tsql.Store._earlier_names  # type: ignore[attr-defined]
    expected |= {f"tsql.Store.{name}" for name in dir(tsql.Store) if not name.startswith("_") and name not in aliases}
    assert set(listed) == expected | {"tsql.dbapi", "tsql.errors", "tsql.measure"}
    members = re.search(r"^::: tsql.measure\n    options:\n      heading_level: 2\n      members: \[(.*)\]$", page, re.MULTILINE)
    assert members is not None and set(members[1].split(", ")) == set(tsql.measure.__all__)
