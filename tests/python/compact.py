"""Compacts the tables of a store with delta-rs, without an order of rows: {table: compacted files}."""

import json
import pathlib
import sys

import deltalake

store = pathlib.Path(sys.argv[1])
merged = {}
for table in sorted(path.parent.name for path in store.glob("*/_delta_log")):
    done = deltalake.DeltaTable(str(store / table)).optimize.compact()
    merged[table] = done["numFilesRemoved"]
json.dump(merged, sys.stdout)
