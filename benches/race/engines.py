"""The engines of the race. Each peer runs in a process of its own (`python3 engines.py NAME ...`) that takes
JSON lines `{"sql": ..., "output": ...}` and answers `{"seconds": ..., "rows": [...]}`."""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import time

PLAIN = "records-*.parquet"


def duckdb_worker(folder, source):
    import duckdb

    connection = duckdb.connect(str(folder / "race.duckdb") if source == "native" else ":memory:", read_only=source == "native")
    connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
    if source != "native":
        files = {"plain": folder / "plain" / PLAIN}.get(source, source)
        connection.execute(f"CREATE VIEW records AS SELECT * FROM read_parquet('{files}')")
        connection.execute(f"CREATE VIEW graphs AS SELECT * FROM '{folder}/plain/graphs.parquet'")

    def answer(sql, output):
        if output:
            connection.execute(f"COPY ({sql}) TO '{output}' (FORMAT parquet, COMPRESSION zstd)")
            return []
        return connection.execute(sql).fetchall()

    return duckdb.__version__, answer


def chdb_worker(folder, _):
    import chdb
    from chdb import session

    connection = session.Session()
    connection.query("CREATE DATABASE race ENGINE = Atomic")
    for name, files in [("records", PLAIN), ("graphs", "graphs.parquet")]:
        connection.query(f"CREATE VIEW race.{name} AS SELECT * FROM file('{folder}/plain/{files}', 'Parquet')")
    connection.query("USE race")

    def answer(sql, output):
        if output:
            pathlib.Path(output).unlink(missing_ok=True)
            connection.query(f"{sql} INTO OUTFILE '{output}' FORMAT Parquet SETTINGS output_format_parquet_compression_method = 'zstd'")
            return []
        text = connection.query(sql, "CSV").bytes().decode()
        rows = csv.reader(io.StringIO(text))
        return [[None if field == "\\N" else value(field) for field in row] for row in rows]  # NULL

    return chdb.__version__, answer


def datafusion_worker(folder, _):
    import datafusion

    config = datafusion.SessionConfig().set("datafusion.execution.parquet.pushdown_filters", "true")
    context = datafusion.SessionContext(config)
    context.register_parquet("records", str(folder / "plain" / "records"))
    context.register_parquet("graphs", str(folder / "plain" / "graphs.parquet"))

    def answer(sql, output):
        frame = context.sql(sql)
        if output:
            frame.write_parquet(str(output))
            return []
        columns = [batch.to_pydict() for batch in frame.collect()]
        return [list(row) for batch in columns for row in zip(*batch.values())]

    return datafusion.__version__, answer


def polars_worker(folder, _):
    import polars

    context = polars.SQLContext(
        records=polars.scan_parquet(str(folder / "plain" / PLAIN)),
        graphs=polars.scan_parquet(str(folder / "plain" / "graphs.parquet")),
    )

    def answer(sql, output):
        frame = context.execute(sql)
        if output:
            frame.sink_parquet(output, compression="zstd")
            return []
        return [list(row) for row in frame.collect().rows()]

    return polars.__version__, answer


WORKERS = {"duckdb": duckdb_worker, "chdb": chdb_worker, "datafusion": datafusion_worker, "polars": polars_worker}


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def serve(name, folder, source):
    version, answer = WORKERS[name](pathlib.Path(folder), source)
    print(json.dumps({"version": version}), flush=True)
    for line in sys.stdin:
        task = json.loads(line)
        begin = time.perf_counter()
        try:
            rows = answer(task["sql"], task.get("output"))
            reply = {"seconds": time.perf_counter() - begin, "rows": rows}
        except Exception as error:  # whatever a peer cannot do is told, not hidden
            reply = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
        print(json.dumps(reply, default=str), flush=True)


class Peer:
    """A peer in its own process."""

    def __init__(self, name, folder, source=""):
        command = [sys.executable, __file__, name, str(folder), str(source)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.version = json.loads(self.process.stdout.readline())["version"]

    def ask(self, sql, output=None):
        print(json.dumps({"sql": sql, "output": output and str(output)}), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            return {"error": f"stopped with {self.process.wait()}"}
        return json.loads(line)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Tsql:
    """tsql itself: a process for each question, which asks it `asked` times; the last answer counts. Of the `first` answer of a
    process counts all: start, opening, asking."""

    def __init__(self, binary, store, options=(), asked=3, first=False):
        self.binary, self.store, self.options, self.first = binary, store, list(options), first
        self.asked = 1 if first else asked
        shown = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True)
        self.version = shown.stdout.split()[1]

    def ask(self, sql, output=None):
        if output:
            sql = f"COPY ({sql}) TO '{output}' STORED AS PARQUET"
        asked = ";".join([sql] * self.asked)
        command = [self.binary, "--store", self.store, "--timer", "--format", "csv", *self.options, "-c", asked]
        begin = time.perf_counter()
        done = subprocess.run(command, capture_output=True, text=True)
        process = time.perf_counter() - begin
        if done.returncode:
            return {"error": done.stderr.strip()[:300]}
        seconds = [float(line.split(" in ")[1].split()[0]) for line in done.stderr.splitlines() if " in " in line]
        lines = list(csv.reader(io.StringIO(done.stdout)))
        rows = lines[len(lines) // self.asked * (self.asked - 1) + 1 :]
        return {"seconds": process if self.first else seconds[-1], "rows": [[value(field) for field in row] for row in rows]}

    def close(self):
        pass


class Cold:
    """An engine that is started anew for each question, of whose files the operating system keeps nothing in memory
    then. What it does while it starts is counted of tsql only."""

    def __init__(self, start, folders):
        self.start, self.folders = start, folders
        engine = start()
        self.version = engine.version
        engine.close()

    def ask(self, sql, output=None):
        engine = self.start()
        for folder in self.folders:
            forget(folder)
        reply = engine.ask(sql, output)
        engine.close()
        return reply

    def close(self):
        pass


def forget(folder):
    """Takes the files of a folder out of the page cache."""
    os.sync()
    for file in pathlib.Path(folder).rglob("*"):
        if file.is_file():
            handle = os.open(file, os.O_RDONLY)
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(handle)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], sys.argv[3])
