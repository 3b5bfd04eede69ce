"""Runs the records of .slt files of tests/slt with DuckDB: python slt.py [--write] FILE...

Records with `onlyif tsql` are skipped. With --write DuckDB's results replace the results in the files.
"""

import datetime
import sys

import duckdb


def text(value):
    """Returns a value in the format of tests/slt."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return {"inf": "inf", "-inf": "-inf", "nan": "NaN"}.get(repr(value), repr(value))
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(text(one) for one in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {text(one)}" for name, one in value.items()) + "}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(sep="T")
    return "(empty)" if value == "" else str(value)


def kind(value):
    """Returns the type of a value, as sqllogictest names it."""
    if isinstance(value, bool):
        return "?"
    return "I" if isinstance(value, int) else "R" if isinstance(value, float) else "T"


def spaced(line):
    return " ".join(line.split())


def check_record(connection, record, write):
    """Returns the record with DuckDB's result. Exits if the result differs."""
    lines = record.split("\n")
    head = next(i for i, line in enumerate(lines) if not line.startswith("#"))
    words = lines[head].split()
    if words[0] == "onlyif":
        return record
    if words[0] == "statement":
        sql = "\n".join(lines[head + 1 :])
        if words[1] == "ok":
            connection.execute(sql)
            return record
        try:
            connection.execute(sql).fetchall()
        except duckdb.Error:
            return record
        sys.exit(f"DuckDB accepts: {sql}")
    rule = lines.index("----")
    sql = "\n".join(lines[head + 1 : rule])
    rows = connection.execute(sql).fetchall()
    result = [" ".join(text(value) for value in row) for row in rows]
    if "rowsort" in words:
        result.sort()
    if write:
        return "\n".join(lines[: rule + 1] + result)
    expected = [spaced(line) for line in lines[rule + 1 :] if line]
    if "rowsort" in words:
        expected.sort()
    if [spaced(line) for line in result] != expected:
        sys.exit(f"DuckDB returns other rows: {sql}\n" + "\n".join(result))
    return record


def main():
    write = "--write" in sys.argv
    for path in sys.argv[1:]:
        if path == "--write":
            continue
        with open(path) as file:
            records = file.read().strip("\n").split("\n\n")
        connection = duckdb.connect()
        written = []
        for record in records:
            is_comment = all(line.startswith("#") for line in record.split("\n"))
            written.append(record if is_comment else check_record(connection, record, write))
        if write:
            with open(path, "w") as file:
                file.write("\n\n".join(written) + "\n")


main()
