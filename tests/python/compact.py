"""Merges the files of a store's tables as delta-rs does, in no order: {table: files that were merged}."""

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
