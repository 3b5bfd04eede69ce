#!/usr/bin/env python3
"""Counts the lines of each crate: all, production code, and code of tests.

Production code and code of tests are lines that are neither blank nor a comment. Code of tests is below `tests`, in
`tests.rs` and `*_tests`, and in modules with `#[cfg(test)]` at the end of a file.

    benches/lines.py [CHECKOUT]
"""

import re
import sys
from pathlib import Path

INLINE_TESTS = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\([^)]*\))? )?mod \w+ \{", re.MULTILINE)


def is_test(path: Path) -> bool:
    """Returns whether all code of the file belongs to tests."""
    folders = path.parts[:-1]
    return path.name == "tests.rs" or any(part == "tests" or part.endswith("_tests") for part in folders)


def code_lines(text: str) -> int:
    """Number of lines that are neither blank nor a comment."""
    lines = (line.strip() for line in text.splitlines())
    return sum(1 for line in lines if line and not line.startswith("//"))


def count(folder: Path) -> tuple[int, int, int]:
    """Lines of a crate: all, production code, code of tests."""
    total = production = tests = 0
    for path in folder.rglob("*.rs"):
        text = path.read_text()
        total += text.count("\n")
        start = INLINE_TESTS.search(text)
        cut = 0 if is_test(path.relative_to(folder.parent)) else start.start() if start else len(text)
        production += code_lines(text[:cut])
        tests += code_lines(text[cut:])
    return total, production, tests


def main() -> None:
    """Prints a table of all crates, with their sum."""
    checkout = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    folders = [checkout / "src", *sorted((checkout / "crates").iterdir()), checkout / "python", checkout / "tests"]
    rows = [(str(folder.relative_to(checkout)), *count(folder)) for folder in folders]
    rows.append(("all", *(sum(row[column] for row in rows) for column in (1, 2, 3))))
    print(f"{'crate':<20}{'lines':>9}{'production':>12}{'tests':>9}")
    for name, *numbers in rows:
        print(f"{name:<20}{numbers[0]:>9}{numbers[1]:>12}{numbers[2]:>9}")


if __name__ == "__main__":
    main()
