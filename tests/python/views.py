"""Runs queries over the views of `tsql store views` with DuckDB: {name: rows}."""

import json
import pathlib
import sys

import duckdb
import duckdb_extension_delta

views, queries = sys.argv[1:]
folder = pathlib.Path(duckdb_extension_delta.__file__).parent
extension = next(folder.rglob("delta.duckdb_extension"))
connection = duckdb.connect(config={"autoinstall_known_extensions": False})
connection.execute(f"LOAD '{extension}'")
connection.execute(pathlib.Path(views).read_text())
results = {}
for name, query in json.loads(queries).items():
    rows = connection.execute(query).fetchall()
    results[name] = [list(row) for row in rows]
json.dump(results, sys.stdout)
