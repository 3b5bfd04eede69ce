"""Answers through the views of `tsql store views`: {name: rows}."""

import json
import pathlib
import sys

import duckdb
import duckdb_extension_delta

views, questions = sys.argv[1:]
folder = pathlib.Path(duckdb_extension_delta.__file__).parent
extension = next(folder.rglob("delta.duckdb_extension"))
connection = duckdb.connect(config={"autoinstall_known_extensions": False})
connection.execute(f"LOAD '{extension}'")
connection.execute(pathlib.Path(views).read_text())
answers = {}
for name, question in json.loads(questions).items():
    rows = connection.execute(question).fetchall()
    answers[name] = [list(row) for row in rows]
json.dump(answers, sys.stdout)
