"""Counts the records of each platform with several engines: {engine: {platform: records}}.

DuckDB and delta-rs read the platform from the log. `path` reads it from the folders of the files in the log,
as polars does: split at `/` and `=`, then percent-decoded.
"""

import json
import pathlib
import sys
import urllib.parse

import deltalake
import duckdb
import duckdb_extension_delta

records = pathlib.Path(sys.argv[1]) / "records"
folder = pathlib.Path(duckdb_extension_delta.__file__).parent
extension = next(folder.rglob("delta.duckdb_extension"))
connection = duckdb.connect(config={"autoinstall_known_extensions": False})
connection.execute(f"LOAD '{extension}'")

sql = f"SELECT platform, count(*) FROM delta_scan('{records}') GROUP BY 1"
counts = {"duckdb": dict(connection.execute(sql).fetchall()), "deltalake": {}, "path": {}}
table = deltalake.DeltaTable(str(records))
actions = table.get_add_actions(flatten=True)
columns = [actions.column(name).to_pylist() for name in ("partition.platform", "num_records")]
for platform, rows in zip(*columns):
    counts["deltalake"][platform] = counts["deltalake"].get(platform, 0) + rows
for uri in table.file_uris():
    path = urllib.parse.unquote(urllib.parse.urlsplit(uri).path) if uri.startswith("file:") else uri
    parts = dict(part.split("=", 1) for part in path.split("/") if part.startswith(("platform=", "dataset=")))
    platform = urllib.parse.unquote(parts["platform"])
    rows = connection.execute("SELECT count(*) FROM read_parquet(?)", [[path]]).fetchone()[0]
    counts["path"][platform] = counts["path"].get(platform, 0) + rows
json.dump(counts, sys.stdout)
