"""Runs the queries of `queries.json` over raw log lines with DuckDB: {name: rows}."""

import json
import pathlib
import sys

import duckdb

logs = pathlib.Path(sys.argv[1])
rows = []
for folder in sorted(path for path in logs.iterdir() if path.is_dir()):
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.suffix == ".pkl":
            continue
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if line.startswith(b"{"):
                name = str(path.relative_to(logs))
                rows.append((path.parent.name, name, number, line.decode()))

connection = duckdb.connect()
connection.execute("CREATE TABLE raw (platform VARCHAR, name VARCHAR, line BIGINT, j JSON)")
connection.executemany("INSERT INTO raw VALUES (?, ?, ?, ?)", rows)
connection.execute(
    """
    CREATE VIEW lines AS
    SELECT platform, name, line, j,
        j ->> '$.i[0][0]' AS workload, j ->> '$.i[0][1]' AS target, j -> '$.i[1][1]' AS steps,
        CAST(j -> '$.r[0]' AS DOUBLE[]) AS costs, CAST(j -> '$.r[1]' AS INT) AS error_no,
        CAST(j -> '$.r[2]' AS DOUBLE) AS all_cost, CAST(j -> '$.r[3]' AS BIGINT) AS stamp
    FROM raw
    """
)
queries = json.loads((pathlib.Path(__file__).parent / "queries.json").read_text())
results = {}
for query in queries:
    found = connection.execute(query["duckdb"]).fetchall()
    results[query["name"]] = [list(row) for row in found]
json.dump(results, sys.stdout)
