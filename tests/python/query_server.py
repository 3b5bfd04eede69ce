"""Runs queries over exported tables with DuckDB, in one process for all queries.

Usage: query_server.py FOLDER: every FOLDER/<table>.parquet is a table. Each line of standard input is a JSON object
`{"sql": ...}`, each line of standard output `{"rows": [[...]]}` or `{"error": ...}`. Times are
`{"us": microseconds since 1970}`. Numbers that JSON cannot represent are `{"number": text}`.
"""

import datetime
import decimal
import json
import math
import pathlib
import sys

import duckdb

EPOCH = datetime.datetime(1970, 1, 1)


def cell(value):
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            value = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
        return {"us": (value - EPOCH) // datetime.timedelta(microseconds=1)}
    if isinstance(value, datetime.date):
        return cell(datetime.datetime(value.year, value.month, value.day))
    if isinstance(value, decimal.Decimal):
        value = float(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63:
        return {"number": str(value)}
    if isinstance(value, (list, tuple)):
        return [cell(element) for element in value]
    return value


connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'; SET threads = 1")
for path in sorted(pathlib.Path(sys.argv[1]).glob("*.parquet")):
    columns = connection.execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    # Timestamps are in UTC, independent of the local time zone.
    zoned = [f"CAST({name} AS TIMESTAMP) AS {name}" for name, kind, *_ in columns if "WITH TIME ZONE" in kind]
    replaced = f" REPLACE ({', '.join(zoned)})" if zoned else ""
    connection.execute(f"CREATE TABLE {path.stem} AS SELECT *{replaced} FROM '{path}'")

for line in sys.stdin:
    try:
        rows = connection.execute(json.loads(line)["sql"]).fetchall()
        result = {"rows": [[cell(value) for value in row] for row in rows]}
    except duckdb.Error as error:
        result = {"error": str(error).splitlines()[0]}
    print(json.dumps(result), flush=True)
