"""Asks DuckDB what the .slt files of tests/slt ask tsql: python slt.py [--write] FILE...

A record with `onlyif tsql` before it is left out. With --write the answers in the files become DuckDB's.
"""

import datetime
import sys

import duckdb


def text(value):
    """A value as tests/slt writes it."""
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
    """Its type, as sqllogictest names it."""
    if isinstance(value, bool):
        return "?"
    return "I" if isinstance(value, int) else "R" if isinstance(value, float) else "T"


def spaced(line):
    return " ".join(line.split())


def asked(connection, record, write):
    """The record with DuckDB's answer; exits where the answer is another one."""
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
        sys.exit(f"DuckDB answers: {sql}")
    rule = lines.index("----")
    sql = "\n".join(lines[head + 1 : rule])
    rows = connection.execute(sql).fetchall()
    answer = [" ".join(text(value) for value in row) for row in rows]
    if "rowsort" in words:
        answer.sort()
    if write:
        return "\n".join(lines[: rule + 1] + answer)
    expected = [spaced(line) for line in lines[rule + 1 :] if line]
    if "rowsort" in words:
        expected.sort()
    if [spaced(line) for line in answer] != expected:
        sys.exit(f"DuckDB says otherwise: {sql}\n" + "\n".join(answer))
    return record


def main():
    write = "--write" in sys.argv
    for path in sys.argv[1:]:
        if path == "--write":
            continue
        with open(path) as file:
            records = file.read().strip("\n").split("\n\n")
        connection = duckdb.connect()
        made = []
        for record in records:
            is_talk = all(line.startswith("#") for line in record.split("\n"))
            made.append(record if is_talk else asked(connection, record, write))
        if write:
            with open(path, "w") as file:
                file.write("\n\n".join(made) + "\n")


main()
