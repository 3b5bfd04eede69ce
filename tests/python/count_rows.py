"""Counts the rows of the tables of a store with DuckDB and delta-rs: {engine: {table: rows}}."""

import json
import pathlib
import sys

import deltalake
import duckdb
import duckdb_extension_delta

store = pathlib.Path(sys.argv[1])
folder = pathlib.Path(duckdb_extension_delta.__file__).parent
extension = next(folder.rglob("delta.duckdb_extension"))
connection = duckdb.connect(config={"autoinstall_known_extensions": False})
connection.execute(f"LOAD '{extension}'")

counts = {"duckdb": {}, "deltalake": {}}
for table in sorted(path.parent.name for path in store.glob("*/_delta_log")):
    scanned = connection.execute(f"SELECT count(*) FROM delta_scan('{store / table}')")
    counts["duckdb"][table] = scanned.fetchone()[0]
    files = deltalake.DeltaTable(str(store / table)).file_uris()
    rows = connection.execute("SELECT count(*) FROM read_parquet(?)", [files])
    counts["deltalake"][table] = rows.fetchone()[0]
json.dump(counts, sys.stdout)
