#!/usr/bin/env python3
"""How a store behaves far beyond what fits here: a model, its constants, and a simulation of writers.

    python3 benches/scale.py measure WORK [--tsql FILE] [--weed FILE] [--only PART,...]   # writes WORK/constants.json
    python3 benches/scale.py model [--constants benches/scale.json]
    python3 benches/scale.py simulate [--constants benches/scale.json]

`measure` makes stores in WORK and takes the constants from them: what a data file, a source and a commit cost in the
log, in processor time and in memory; requests and round trips by a proxy that counts and delays them; records of
TenSet's shape for bytes and speed; writers side by side. `model` prints tables for 5*10^7 to 10^11
records and 1 to 1,000 workers, and what it says of stores that were measured. `simulate` lets N writers
commit by put-if-absent, step by step, beside the measured ones.

Of planning processor time is told, so that a busy machine does little harm; of repeats the median is taken. `scale.json` has the
constants that benches/scale.md is made with.
"""

import argparse
import collections
import heapq
import itertools
import json
import math
import os
import pathlib
import random
import re
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
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))

FILE_ROWS = 1 << 20  # rows of an optimized data file at most
TAIL_BYTES = 256 << 10  # end of a data file that one request fetches and the disk keeps
KEPT_BYTES = 1 << 30  # all kept ends together
STAGES = {True: [100, 1000, 5000, 20000], False: [1000, 10000, 40000, 100000]}  # files, sources
REPEATS = 5
WRITERS = [1, 2, 4, 8]
DELAYS_S = [0.0, 0.03]
ENTRY = re.compile(r"_delta_log/\d{20}\.json")


# ---------------------------------------------------------------- processes


def run(command, env=None, text=None):
    """Wall and processor seconds, most memory, requests and output of a process."""
    begin = time.perf_counter()
    process = subprocess.Popen([str(part) for part in command], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if text:
        process.stdin.write(text.encode())
    process.stdin.close()
    said = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command}: {said}")
    taken = {"wall_s": time.perf_counter() - begin, "cpu_s": used.ru_utime + used.ru_stime, "memory_mb": used.ru_maxrss / 1024, "said": said}
    if found := re.search(r"requests: (\d+) GET, (\d+) HEAD, (\d+) LIST, (\d+) PUT, .*; (\d+) bytes in", said):
        gets, heads, lists, puts, bytes_in = map(int, found.groups())
        taken |= {"get": gets + heads, "list": lists, "put": puts, "bytes_in": bytes_in}
    return taken


def median(runs):
    """The median of each number of several runs, and the least wall time."""
    numbers = {name: statistics.median(each[name] for each in runs) for name in runs[0] if name != "said"}
    return numbers | {"least_wall_s": min(each["wall_s"] for each in runs)}


def repeated(command, env=None, repeats=REPEATS):
    return median([run(command, env) for _ in range(repeats)])


def slope(points):
    """Least squares: intercept and slope."""
    mean_x, mean_y = (statistics.mean(values) for values in zip(*points))
    rise = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return mean_y - rise / sum((x - mean_x) ** 2 for x, _ in points) * mean_x, rise / sum((x - mean_x) ** 2 for x, _ in points)


# ---------------------------------------------------------------- what a file and a source cost


def write_logs(folder, first, last, line, many_platforms):
    """A small log for each number: in a folder (so on a platform) of its own, or all in one. Few have the same size, as
    files of one size are compared with each other."""
    for number in range(first, last):
        place = folder / (f"p{number:06}" if many_platforms else "p")
        place.mkdir(parents=True, exist_ok=True)
        unroll = "auto_unroll_max_step" + "_" * (number % 500)
        (place / f"{number:06}.json").write_text(line(number).replace("auto_unroll_max_step", unroll))


def log_sizes(store, table):
    """Bytes of the log of a table, of its newest checkpoint, and of its longest entry."""
    log = store / table / "_delta_log"
    size = lambda pattern: [(file.name, file.stat().st_size) for file in sorted(log.glob(pattern))]  # noqa: E731
    checkpoints, entries = size("*.checkpoint.parquet"), size("*.json")
    return {
        "entries_bytes": sum(size for _, size in entries),
        "longest_entry_bytes": max(size for _, size in entries),
        "checkpoint_bytes": checkpoints[-1][1] if checkpoints else 0,
    }


def grown(options, many_platforms):
    """A store of more and more sources, each a data file of its own or not, and what it costs to use."""
    from writers import line

    name = "files" if many_platforms else "sources"
    store, logs = options.work / name, options.work / f"{name}-logs"
    shutil.rmtree(store, ignore_errors=True)
    run([options.tsql, "--store", store, "init"])
    stages, done = [], 0
    for count in options.stages or STAGES[many_platforms]:
        shutil.rmtree(logs, ignore_errors=True)
        write_logs(logs, done, count, line, many_platforms)
        took = run([options.tsql, "--store", store, "ingest", logs])
        done = count
        asked = stage(options, store, line, count)
        stages.append({"count": count, "ingest_cpu_s": took["cpu_s"], "ingest_memory_mb": took["memory_mb"]} | asked)
        print(name, stages[-1], flush=True)
    shutil.rmtree(logs)
    return stages


def stage(options, store, line, count):
    """One size of it: questions, appends, the log. A stream of twelve groups leaves a checkpoint."""
    at = [options.tsql, "--store", store]
    some = [line(10**7 + 100 * count + number) for number in range(13)]
    text = "".join(some[:12])
    stream = [*at, "append", "--platform", "p000000", "--rows", 1]
    twelve = run([*stream, "--stream", f"twelve{count}"], text=text)
    one = [run([*stream, "--stream", f"one{count}-{number}"], text=some[12]) for number in range(3)]
    count_all = repeated([*at, "SELECT count(*) FROM records"])
    selective = repeated([*at, "SELECT sum(config_id) FROM records WHERE platform = 'p000000'"])
    return {"twelve": median([twelve]), "one": median(one), "count_all": count_all, "selective": selective} | {
        table: log_sizes(store, table) for table in ("records", "sources")
    }


# ---------------------------------------------------------------- records of TenSet's shape


def tenset_like(rng, task, target, seconds, program):
    """A line of a log: eight repeats, a program of some fifty numbers."""
    costs = ", ".join(f"{seconds * (1 + 0.024 * rng.gauss(0, 1)):.6g}" for _ in range(8))
    steps = ", ".join(f'["SP", {stage}, {place}, 512, [{a}, {b}, {c}], 1]' for stage, place, a, b, c in program)
    cost = 0.5 + rng.random()
    return f'{{"i": [["[\\"task{task}\\", 1, 64, 64]", "{target}", [4, 32, 64, 0, 0, 0, 0, 0], "", 0, []], [[], [{steps}, ["PR", 1, 0, "auto_unroll_max_step$16"]]]], "r": [[{costs}], 0, {cost:.6g}, {1_700_000_000 + task}], "v": "v0.6"}}\n'


def write_tenset(folder, platforms, tasks, programs):
    """Logs of the same programs on each platform, a file for each task."""
    rng = random.Random(7)
    sizes = [1, 2, 4, 8, 16, 32]
    for task in range(tasks):
        made = [[(stage, place, *rng.choices(sizes, k=3)) for stage in (1, 2, 3) for place in (0, 1, 2, 3)] for _ in range(programs)]
        best = math.exp(rng.gauss(-8, 1.5))
        slowdown = [best * math.exp(abs(rng.gauss(0, 0.79))) for _ in made]
        for platform in range(platforms):
            place = folder / f"cpu{platform}"
            place.mkdir(parents=True, exist_ok=True)
            lines = (tenset_like(rng, task, f"llvm -keys=cpu -model=cpu{platform}", slow, program) for slow, program in zip(slowdown, made))
            (place / f"task{task}.json").write_text("".join(lines))


def made(options, store, platforms, tasks, programs):
    """A store of such records, optimized, and what ingest and optimize took."""
    logs = options.work / "records-logs"
    shutil.rmtree(store, ignore_errors=True)
    write_tenset(logs, platforms, tasks, programs)
    text_bytes = sum(file.stat().st_size for file in logs.rglob("*.json"))
    at = [options.tsql, "--store", store]
    run([*at, "init"])
    ingest = run([*at, "ingest", logs])
    shutil.rmtree(logs)
    optimize = run([*at, "optimize"])
    run([*at, "vacuum", "--retain", "0s", "--force-unlisted"])
    return {"records": platforms * tasks * programs, "text_bytes": text_bytes, "ingest_cpu_s": ingest["cpu_s"], "optimize_cpu_s": optimize["cpu_s"]}


def records(options):
    """Bytes, ingest, optimize and scans of files of full size: by the difference of two stores, two scans."""
    store = options.work / "records"
    sizes = [made(options, store, 2, tasks, 3700) for tasks in (70, 280)]
    more = {name: sizes[1][name] - sizes[0][name] for name in sizes[0]}
    files = [(file.relative_to(store).parts[0], file.stat().st_size) for file in store.rglob("*.parquet") if "_delta_log" not in file.parts]
    at = [options.tsql, "--store", store, "--format", "csv"]
    ask = lambda sql: repeated([*at, sql])["cpu_s"]  # noqa: E731
    scan = "SELECT sum(runtime_ns * 2) FROM records"
    half_cpu_s = ask(scan) - ask(f"{scan} WHERE platform = 'cpu0'")
    found = {
        "records": sizes[1]["records"],
        "text_bytes_per_record": more["text_bytes"] / more["records"],
        "ingest_cpu_s_per_record": more["ingest_cpu_s"] / more["records"],
        "optimize_cpu_s_per_record": more["optimize_cpu_s"] / more["records"],
        "bytes_per_record": sum(size for of, size in files if of != "configurations") / sizes[1]["records"],
        "bytes_per_configuration": sum(size for of, size in files if of == "configurations") / (sizes[1]["records"] / 2),
        "files": {table: sum(of == table for of, _ in files) for table in ("records", "configurations", "sources")},
        "scan_cpu_s_per_record": half_cpu_s / (sizes[1]["records"] / 2),
        "entry_bytes_per_file": optimized_entry_bytes(store),
        "graph": run([*at, "SELECT max(graph_id) FROM records"])["said"].split()[1],
    }
    print("records", found, flush=True)
    return found


def optimized_entry_bytes(store):
    """Bytes of what the log says of an optimized file of records."""
    lines = (line for file in sorted((store / "records" / "_delta_log").glob("*.json")) for line in file.read_text().splitlines())
    return statistics.mean([len(line) for line in lines if line.startswith('{"add"')][-2:])


# ---------------------------------------------------------------- a bucket, near and far


class Distance:
    """Passes requests on after a delay, and keeps what they were: the round trip to a server far away."""

    def __init__(self, server_port, delay_s=0.0):
        self.server_port, self.delay_s, self.passed = server_port, delay_s, []
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        head, body = b"", b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(1 << 16)
            if not piece:
                return
            head += piece
        head, body = head.split(b"\r\n\r\n", 1)
        line, *fields = head.split(b"\r\n")
        length = next((int(field.split(b":")[1]) for field in fields if field.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += client.recv(1 << 16)
        time.sleep(self.delay_s)
        kept = [field for field in fields if not field.lower().startswith(b"connection:")]
        with client, socket.create_connection(("127.0.0.1", self.server_port)) as server:
            server.sendall(b"\r\n".join([line, b"Connection: close", *kept]) + b"\r\n\r\n" + body)
            answer = server.recv(1 << 16)
            self.passed.append((time.perf_counter(), *line.decode().split(" ")[:2], int(answer.split(b" ", 2)[1])))
            while answer:
                client.sendall(answer)
                answer = server.recv(1 << 16)

    def between(self, begin, seconds):
        """Requests, entries of logs among them, and how many of these were refused."""
        passed = [each for each in self.passed if begin < each[0] <= begin + seconds]
        tries = [status for _, method, path, status in passed if method == "PUT" and ENTRY.search(path)]
        return len(passed), len(tries), sum(status != 200 for status in tries)

    def windows_s(self):
        """Of one writer: from the look at a log that a change is made for to its entry. Another's entry in between makes it fail."""
        looked, windows_s = {}, []
        for at, method, path, _ in sorted(self.passed):
            log = re.search(r"(\w+)/_delta_log", urllib.parse.unquote(path))
            if method == "GET" and log and "list-type=" in path:
                looked.setdefault(log[1], []).append(at)
            elif method == "PUT" and ENTRY.search(path):
                # Of the last two looks, the first is the one that the change is made for.
                looks = looked.pop(log[1], [])
                windows_s += [at - look for look in looks[-2:-1]]
        return windows_s


class Bucket:
    """A server of its own, with what tsql needs to reach it."""

    def __init__(self, options):
        from bucket import BUCKET, KEY, SECRET, start

        self.cache = options.work / "cache"
        shutil.rmtree(options.work / "weed", ignore_errors=True)
        self.server, self.port = start(options.weed, options.work / "weed")
        self.keys = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "TSQL_CACHE": str(self.cache)}
        self.url = f"s3://{BUCKET}"
        self.filer = f"http://127.0.0.1:{self.port + 6}/buckets/{BUCKET}"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()

    def env(self, port=None):
        return {**os.environ, **self.keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port or self.port}"}

    def upload(self, store, name, wanted):
        for file in sorted(store.rglob("*")):
            path = str(file.relative_to(store))
            if file.is_file() and wanted(path):
                request = urllib.request.Request(f"{self.filer}/{name}/{urllib.parse.quote(path)}", data=file.read_bytes(), method="PUT")
                urllib.request.urlopen(request).read()

    def forget(self):
        shutil.rmtree(self.cache, ignore_errors=True)

    def cpu_s(self):
        """Processor seconds of the server so far."""
        fields = pathlib.Path(f"/proc/{self.server.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def asked_in_bucket(options, bucket, store, sql):
    """Requests of a question with nothing kept and again, and round trips one after the other: wall time by delay."""
    command = [options.tsql, "--store", f"{bucket.url}/{store}", "--stats", "--format", "csv", sql]
    found = {}
    for kept in ("first", "again"):
        points = []
        for delay_s in (0.0, 0.05, 0.1):
            distance = Distance(bucket.port, delay_s)
            runs = []
            for _ in range(3):
                if kept == "first":
                    bucket.forget()
                runs.append(run(command, bucket.env(distance.port)))
            points.append((delay_s, min(each["wall_s"] for each in runs)))
            if not delay_s:
                found[kept] = median(runs)
        found[kept]["round_trips"] = slope(points)[1]
    return found


def in_bucket(options):
    """Questions about the stores of `files` and `records` as they lie in a bucket."""
    found = {}
    with Bucket(options) as bucket:
        is_log = lambda path: "_delta_log/" in path or "/" not in path or "platform=p000000/" in path  # noqa: E731
        bucket.upload(options.work / "files", "files", is_log)
        bucket.upload(options.work / "sources", "sources", is_log)
        bucket.upload(options.work / "records", "records", lambda path: True)
        graph = options.constants["records"]["graph"]
        questions = {
            "files: count": ("files", "SELECT count(*) FROM records"),
            "files: one platform": ("files", "SELECT sum(config_id) FROM records WHERE platform = 'p000000'"),
            "sources: count": ("sources", "SELECT count(*) FROM records"),
            "records: count": ("records", "SELECT count(*) FROM records"),
            "records: one graph": ("records", f"SELECT min(runtime_ns) FROM records WHERE platform = 'cpu0' AND graph_id = {graph}"),
            "records: sums": ("records", "SELECT platform, count(*), avg(runtime_ns) FROM records GROUP BY platform"),
            "records: scan": ("records", "SELECT sum(runtime_ns * 2) FROM records"),
            "records: all columns": ("records", "SELECT sum(runtime_ns * 2), sum(length(repeats_ns)), sum(line), sum(config_id) FROM records"),
        }
        found["counts"] = {name: options.constants[name][-1]["count"] for name in ("files", "sources")}
        for name, (store, sql) in questions.items():
            found[name] = asked_in_bucket(options, bucket, store, sql)
            print(name, found[name], flush=True)
    return found


def of_a_group(options):
    """Requests of a group of a stream: by the difference of two streams, one of 41 groups and one of one."""
    from writers import line

    with Bucket(options) as bucket:
        command = [options.tsql, "--store", f"{bucket.url}/requests"]
        run([*command, "init"], bucket.env())
        stream = [*command, "append", "--stats", "--platform", "p", "--rows", 1, "--stream"]
        run([*stream, "first"], bucket.env(), line(0))
        few, many = (run([*stream, f"of{groups}"], bucket.env(), "".join(line(100 * groups + row) for row in range(groups))) for groups in (1, 41))
    return {kind: (many[kind] - few[kind]) / 40 for kind in ("get", "list", "put")}


# ---------------------------------------------------------------- writers side by side


def produce(command, env, number, each, seconds):
    """One writer, as if on a machine of its own: a line, its acknowledgement, the next line."""
    from writers import line

    if env:
        env = env | {"TSQL_CACHE": f"{env['TSQL_CACHE']}/{number}"}
    process = subprocess.Popen([str(part) for part in [*command, "--stream", f"w{number}"]], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    acknowledged, group = each[number], 0
    while not all(each) or time.perf_counter() < max(groups[0][0] for groups in each) + seconds:
        process.stdin.write(line(number * 100_000 + group))
        process.stdin.flush()
        begin = time.perf_counter()
        if not process.stdout.readline():
            sys.exit(process.stderr.read())
        acknowledged.append((time.perf_counter(), time.perf_counter() - begin))
        group += 1
    process.stdin.close()
    _, _, used = os.wait4(process.pid, 0)
    acknowledged.append((math.inf, used.ru_utime + used.ru_stime))


def side_by_side(options, store, env, writers, seconds):
    """Groups a second and their waits, from when every writer has written, and processor time for each group."""
    from writers import line

    run([options.tsql, "--store", store, "init"], env)
    command = [options.tsql, "--store", store, "append", "--platform", "p", "--rows", 1, "--ack"]
    run([*command, "--stream", "first"], env, line(10**8))
    each = [[] for _ in range(writers)]
    threads = [threading.Thread(target=produce, args=(command, env, number, each, seconds)) for number in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begin = max(groups[0][0] for groups in each)
    counted = [wait for groups in each for at, wait in groups if begin < at <= begin + seconds]
    groups = sum(len(groups) - 1 for groups in each)
    cpu_s = sum(groups[-1][1] for groups in each)
    return {
        "groups_per_s": len(counted) / seconds,
        "wait_s": statistics.median(counted),
        "cpu_s_per_group": cpu_s / groups,
        "groups": groups,
        "counted": len(counted),
        "begin": begin,
    }


def on_disk(options):
    with Bucket(options) as bucket:
        return [rounds(options, bucket, "disk", None, count) for count in WRITERS]


def in_buckets(options):
    """In a bucket, and in one that is 30 ms away."""
    with Bucket(options) as bucket:
        return [rounds(options, bucket, "bucket", delay_s, count) for delay_s in options.delays_s for count in WRITERS]


def rounds(options, bucket, place, delay_s, count):
    """Medians of three rounds, each begun when others leave half a processor at least."""
    runs = []
    for number in range(3):
        wait_for_a_core()
        runs.append(one_round(options, bucket, place, delay_s, count, number))
    numbers = {name: statistics.median(each[name] for each in runs) for name in runs[0] if name != "begin"}
    found = {"place": place, "delay_s": delay_s, "writers": count} | numbers | {"rounds": [round(each["groups_per_s"], 2) for each in runs]}
    print(found, flush=True)
    return found


def wait_for_a_core(at_most_s=300, look_s=2):
    for _ in range(at_most_s // look_s):
        before_s = busy_s()
        time.sleep(look_s)
        if busy_s() - before_s < look_s * (os.cpu_count() - 0.5):
            return


def busy_s():
    """Seconds that all processors together were at work."""
    ticks = [int(field) for field in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / os.sysconf("SC_CLK_TCK")


def one_round(options, bucket, place, delay_s, count, number):
    """Some seconds of these writers."""
    own_before_s = bucket.cpu_s() + time.process_time()
    distance = Distance(bucket.port, delay_s or 0.0)
    if place == "disk":
        shutil.rmtree(options.work / "writers", ignore_errors=True)
        taken = side_by_side(options, options.work / "writers", None, count, options.seconds)
    else:
        taken = side_by_side(options, f"{bucket.url}/w{delay_s}-{count}-{number}", bucket.env(distance.port), count, options.seconds)
    groups, own_s = taken["groups"], bucket.cpu_s() + time.process_time() - own_before_s
    taken |= {"server_cpu_s_per_group": own_s / groups}
    if place == "disk":
        return taken
    requests, tries, refused = distance.between(taken["begin"], options.seconds)
    return taken | {
        "requests_per_group": requests / taken["counted"],
        "entries_per_group": (tries - refused) / taken["counted"],
        "refused_per_entry": refused / (tries - refused),
        "window_s": statistics.median(distance.windows_s()) if count == 1 else 0.0,
    }


PARTS = {
    "files": lambda options: grown(options, True),
    "sources": lambda options: grown(options, False),
    "records": records,
    "bucket": in_bucket,
    "group": of_a_group,
    "disk": on_disk,
    "buckets": in_buckets,
}


def measure(options):
    """Takes the constants, part by part; what another run has taken stays."""
    options.work.mkdir(parents=True, exist_ok=True)
    kept = options.work / "constants.json"
    options.constants = json.loads(kept.read_text()) if kept.exists() else {}
    for part in options.only.split(",") if options.only else PARTS:
        options.constants[part] = PARTS[part](options)
        kept.write_text(json.dumps(options.constants, indent=1))


# ---------------------------------------------------------------- constants


class Constants:
    """What was measured, as the model needs it: each a number with its unit."""

    def __init__(self, measured):
        files, sources, records = measured["files"], measured["sources"], measured["records"]
        by = lambda stages, of: slope([(each["count"], of(each)) for each in stages])  # noqa: E731
        self.start_cpu_s = sources[0]["count_all"]["cpu_s"]
        self.plan_cpu_s_per_file = by(files, lambda each: each["count_all"]["cpu_s"])[1]
        self.plan_cpu_s_per_source = by(sources, lambda each: each["count_all"]["cpu_s"])[1]
        self.plan_memory_mb_per_file = by(files, lambda each: each["count_all"]["memory_mb"])[1]
        self.append_cpu_s, self.append_cpu_s_per_file = by(files, lambda each: each["one"]["cpu_s"])
        self.append_cpu_s_per_source = by(sources, lambda each: each["one"]["cpu_s"])[1]
        self.append_memory_mb_per_source = by(sources, lambda each: each["one"]["memory_mb"])[1]
        group_cpu_s = lambda each: (each["twelve"]["cpu_s"] - each["one"]["cpu_s"]) / 11  # noqa: E731
        self.group_cpu_s, self.group_cpu_s_per_file = by(files, group_cpu_s)
        self.group_cpu_s_per_source = by(sources, group_cpu_s)[1]
        self.checkpoint_bytes_per_source = by(sources, lambda each: each["records"]["checkpoint_bytes"])[1]
        self.checkpoint_bytes_per_file = by(files, lambda each: each["records"]["checkpoint_bytes"])[1] - self.checkpoint_bytes_per_source
        self.entry_bytes_per_file = records["entry_bytes_per_file"]
        self.bytes_per_record = records["bytes_per_record"] + CONFIGURATIONS_PER_RECORD * records["bytes_per_configuration"]
        self.ingest_cpu_s_per_record = records["ingest_cpu_s_per_record"]
        self.optimize_cpu_s_per_record = records["optimize_cpu_s_per_record"]
        self.scan_cpu_s_per_record = records["scan_cpu_s_per_record"]
        bucket = measured["bucket"]
        self.empty_first, self.empty_again = bucket["records: count"]["first"], bucket["records: count"]["again"]
        self.first_trips, self.again_trips = (bucket["sources: count"][which]["round_trips"] for which in ("first", "again"))
        # Of a store whose log has a checkpoint.
        self.log_first, self.log_again = bucket["sources: count"]["first"], bucket["sources: count"]["again"]
        read = lambda which: bucket[f"{which}: count"]["again"]["bytes_in"] - self.empty_again["bytes_in"]  # noqa: E731
        self.read_bytes_per_source = read("sources") / bucket["counts"]["sources"]
        self.read_bytes_per_file = read("files") / bucket["counts"]["files"] - self.read_bytes_per_source
        self.scan_bytes_per_record = bucket["records: scan"]["again"]["bytes_in"] / records["records"]
        self.gets_per_group, self.lists_per_group, self.puts_per_group = (measured["group"][kind] for kind in ("get", "list", "put"))
        self.writers = measured["disk"] + measured["buckets"]

    def rows(self):
        """Name and value of each number."""
        return {name: value for name, value in vars(self).items() if isinstance(value, float)}


# ---------------------------------------------------------------- the model

# What is assumed, not measured: a store of TenSet's shape in a bucket far away.
TRIP_S = 0.03  # to the first byte of an answer
STREAM_BYTES_PER_S = 1e8  # one request
WORKER_BYTES_PER_S = 1.25e9  # 10 Gbit/s
WORKER_CORES = 16
PARALLEL = 16  # requests of a process at the same time
RECORDS_PER_SOURCE = 51_577_248 / (2_308 * 6)
RECORDS_PER_GRAPH = 51_577_248 / (2_308 * 2)
CONFIGURATIONS_PER_RECORD = 16_615_243 / 51_577_248
USD_PER_GET, USD_PER_PUT, USD_PER_GB_MONTH = 0.4e-6, 5e-6, 0.023  # LIST as PUT
RECORDS = [5.16e7, 2e8, 1e9, 1e11]
WORKERS = [1, 10, 100, 1000]


def platforms_of(records):
    """Six up to 200 million records, as generated; then as the square root."""
    return round(6 * max(1, records / 2e8) ** 0.5)


def files_of(rows):
    """Rows of a graph stay together: where there are several files, what does not fit makes one more."""
    files = math.ceil(rows / FILE_ROWS)
    return files if files == 1 else files + 1


class Store:
    """An optimized store of so many records, by the constants."""

    def __init__(self, constants, records):
        self.constants, self.records = constants, records
        self.platforms = platforms_of(records)
        self.record_files = self.platforms * files_of(records / self.platforms)
        self.configuration_files = files_of(records * CONFIGURATIONS_PER_RECORD)
        self.files = self.record_files + self.configuration_files
        self.sources = records / RECORDS_PER_SOURCE
        self.bytes = records * constants.bytes_per_record
        self.files_checkpoint_bytes = self.record_files * constants.checkpoint_bytes_per_file
        self.sources_checkpoint_bytes = self.sources * constants.checkpoint_bytes_per_source
        self.checkpoint_bytes = self.files_checkpoint_bytes + self.sources_checkpoint_bytes

    def read_again_bytes(self):
        """What every process fetches of the log of `records`: of a checkpoint, the last 256 KiB are kept."""
        c = self.constants
        return c.empty_again["bytes_in"] + self.record_files * c.read_bytes_per_file + self.sources * c.read_bytes_per_source

    def read_first_bytes(self):
        """With nothing kept, also the end of the checkpoint."""
        c = self.constants
        return self.read_again_bytes() + c.empty_first["bytes_in"] + min(self.checkpoint_bytes, TAIL_BYTES)

    def plan_cpu_s(self):
        c = self.constants
        return c.start_cpu_s + self.record_files * c.plan_cpu_s_per_file + self.sources * c.plan_cpu_s_per_source

    def plan_first_s(self):
        """Until the first data file is asked for, far away, with nothing kept."""
        return self.constants.first_trips * TRIP_S + self.read_first_bytes() / STREAM_BYTES_PER_S + self.plan_cpu_s()

    def plan_again_s(self):
        return self.constants.again_trips * TRIP_S + self.read_again_bytes() / STREAM_BYTES_PER_S + self.plan_cpu_s()

    def plan_memory_mb(self):
        return self.record_files * self.constants.plan_memory_mb_per_file

    def kept(self):
        """Share of the ends of data files that stay on the disk; of more than fit, read in turn, none does."""
        return self.files * TAIL_BYTES <= KEPT_BYTES

    def group_cpu_s(self):
        """Processor time of a group of a stream: three commits, each of which reads what the log says of all files."""
        c = self.constants
        return c.group_cpu_s + self.record_files * c.group_cpu_s_per_file + self.sources * c.group_cpu_s_per_source

    def append_cpu_s(self):
        """Processor time of a process that appends one line."""
        c = self.constants
        return c.append_cpu_s + self.record_files * c.append_cpu_s_per_file + self.sources * c.append_cpu_s_per_source

    def optimize_platform_s(self):
        """After one new file: the records of its platform are written anew, on one machine."""
        return self.records / self.platforms * self.constants.optimize_cpu_s_per_record / WORKER_CORES

    def stream_usd(self, records_per_group):
        c = self.constants
        return self.records / records_per_group * (c.gets_per_group * USD_PER_GET + (c.lists_per_group + c.puts_per_group) * USD_PER_PUT)

    def sums_s(self):
        """Sums of each file, from its end, with nothing kept."""
        trips = math.ceil(self.record_files / PARALLEL)
        return self.plan_first_s() + max(trips * TRIP_S, self.sums_bytes() / WORKER_BYTES_PER_S)

    def sums_bytes(self):
        return self.record_files * TAIL_BYTES

    def scan_s(self, workers, bytes_per_record):
        """A scan of all records, planned by one process, by workers that share the files evenly."""
        share = math.ceil(self.record_files / min(workers, self.record_files)) / self.record_files
        network = share * self.records * bytes_per_record / WORKER_BYTES_PER_S
        cpu = share * self.records * self.constants.scan_cpu_s_per_record / WORKER_CORES
        return self.plan_again_s() + max(network, cpu)

    def shuffle_bytes(self, workers):
        """Of groups by graph (three numbers each), and of a join of two platforms on their configurations (three each)."""
        graphs = self.records / RECORDS_PER_GRAPH
        joined = 2 * self.records / self.platforms * 24 * (workers - 1) / workers
        return min(workers * graphs, 6 * graphs) * 24 * (workers > 1), joined


def table(heads, rows):
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def told(number, unit=""):
    """With an SI prefix and two or three digits."""
    if number == 0:
        return f"0 {unit}".strip()
    if unit == "s" and number >= 60:
        return f"{number / 3600:.1f} h" if number >= 3600 else f"{number / 60:.1f} min"
    power = 0 if 1 <= number < 1000 else min(4, max(-2, math.floor(math.log10(number) / 3)))
    prefix = {-2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T"}[power]
    value = number / 1000**power
    return f"{value:.{0 if value >= 99.5 else 1}f} {prefix}{unit}".strip()


def percent(predicted, measured):
    return f"{100 * (predicted / measured - 1):+.0f} %"


def model(options):
    measured = json.loads(options.constants.read_text())
    constants = Constants(measured)
    print("Constants\n")
    table(["constant", "value"], [[name, f"{value:.3g}"] for name, value in constants.rows().items()])
    checks(constants)
    held_out(measured)
    by_records(constants)
    by_workers(constants)
    by_writers(constants)
    breaks(constants)


def checks(constants):
    """What the model says of stores that were measured (benches/README.md)."""
    small, large = Store(constants, 51_577_248), Store(constants, 200.7e6)
    c, kb = constants, 1000
    rows = [
        ("data files of `records`, 51.6 M", small.record_files, 59, "{:.0f}"),
        ("bytes a record, 51.6 M", c.bytes_per_record, 24.16, "{:.1f}"),
        ("optimize, µs a record, 51.6 M", c.optimize_cpu_s_per_record * 1e6, 5.6 * 2, "{:.1f}"),
        ("sum of one column by rows, processor ms, 51.6 M", small.records * c.scan_cpu_s_per_record * 1e3, 504 * 2, "{:.0f}"),
        ("reading the log, ms, 51.6 M", (small.plan_cpu_s() - c.start_cpu_s) * 1e3, 55, "{:.0f}"),
        ("count by platform in a bucket, again, kB", small.read_again_bytes() / kb, 68, "{:.0f}"),
        ("count by platform in a bucket, first, kB", small.read_first_bytes() / kb, 378, "{:.0f}"),
        ("one program in a bucket, again, GET", c.log_again["get"] + 1, 5, "{:.0f}"),
        ("sums in a bucket, first, GET", small.record_files + c.log_first["get"], 68, "{:.0f}"),
        ("sums in a bucket, first, kB", (small.sums_bytes() + small.read_first_bytes()) / kb, 14_800, "{:.0f}"),
        ("a small ingest, s more than into nothing, 200 M", large.sources * c.append_cpu_s_per_source + 810 * c.append_cpu_s_per_file, 3.05, "{:.1f}"),
    ]
    print("Stores that were measured\n")
    table(["", "model", "measured", "off by"], [[name, shape.format(said), shape.format(found), percent(said, found)] for name, said, found, shape in rows])


def held_out(measured):
    """The largest store of each kind, by a line through the smaller ones."""
    rows = []
    for kind in ("files", "sources"):
        *smaller, largest = measured[kind]
        for name, of in COSTS.items():
            start, each = slope([(stage["count"], of(stage)) for stage in smaller])
            said, found = start + each * largest["count"], of(largest)
            rows.append([f"{largest['count']:,} {kind}: {name}", f"{said:.3g}", f"{found:.3g}", percent(said, found)])
    print("The largest stores by the smaller ones\n")
    table(["", "model", "measured", "off by"], rows)


COSTS = {
    "planning, processor s": lambda stage: stage["count_all"]["cpu_s"],
    "a line more, processor s": lambda stage: stage["one"]["cpu_s"],
    "checkpoint, bytes": lambda stage: stage["records"]["checkpoint_bytes"],
}


def by_records(constants):
    stores = [Store(constants, records) for records in RECORDS]
    rows = {
        "bytes of the store": lambda s: told(s.bytes, "B"),
        "data files: records, configurations": lambda s: f"{s.record_files:,}, {s.configuration_files:,}",
        "sources": lambda s: told(s.sources),
        "checkpoint of `records`: files": lambda s: told(s.files_checkpoint_bytes, "B"),
        "checkpoint of `records`: sources": lambda s: told(s.sources_checkpoint_bytes, "B"),
        "of the log, fetched by every process": lambda s: told(s.read_again_bytes(), "B"),
        "planning, first, s": lambda s: told(s.plan_first_s(), "s"),
        "planning, again, s": lambda s: told(s.plan_again_s(), "s"),
        "of that, processor": lambda s: told(s.plan_cpu_s(), "s"),
        "memory of planning": lambda s: told(s.plan_memory_mb() * 1e6, "B"),
        "one program, requests again": lambda s: f"{constants.log_again['get'] + 1:.0f} GET, {constants.log_again['list']:.0f} LIST",
        "sums by platform, first": lambda s: f"{told(s.record_files)} GET, {told(s.sums_bytes(), 'B')}",
        "sums by platform, first, s": lambda s: told(s.sums_s(), "s"),
        "ends of files stay on the disk": lambda s: "yes" if s.kept() else "no",
        "one line more, a process, processor": lambda s: told(s.append_cpu_s(), "s"),
        "a group of a stream, processor": lambda s: told(s.group_cpu_s(), "s"),
        "a platform optimized anew": lambda s: told(s.optimize_platform_s(), "s"),
        "storage a month": lambda s: f"${s.bytes / 1e9 * USD_PER_GB_MONTH:.2f}",
        "requests of sums, first": lambda s: f"${s.record_files * USD_PER_GET:.5f}",
        "requests of streaming it in, groups of 100,000": lambda s: f"${s.stream_usd(100_000):,.2f}",
        "groups of 100": lambda s: f"${s.stream_usd(100):,.0f}",
    }
    print("By records\n")
    table(["", *(told(records) for records in RECORDS)], [[name, *(of(store) for store in stores)] for name, of in rows.items()])


def by_workers(constants):
    rows = []
    for records in RECORDS:
        store = Store(constants, records)
        column, whole = ([told(store.scan_s(workers, width), "s") for workers in WORKERS] for width in (constants.scan_bytes_per_record, constants.bytes_per_record))
        grouped, joined = store.shuffle_bytes(WORKERS[-1])
        rows.append([told(records), *column, told(store.plan_again_s(), "s"), whole[0], whole[-1], told(grouped, "B"), told(joined, "B")])
    ends = [f"all columns, {workers:,}" for workers in (WORKERS[0], WORKERS[-1])]
    print("A scan of one column by so many workers\n")
    table(["records", *(f"{workers:,}" for workers in WORKERS), "planning of it", *ends, "shuffled: groups by graph", "join of two platforms"], rows)


def by_writers(constants):
    """Commits a second of N writers far away, and what a growing log makes of them."""
    rows = []
    for records in RECORDS:
        store = Store(constants, records)
        more_cpu_s = store.group_cpu_s() - constants.group_cpu_s
        cells = [simulated(Writers(constants, "bucket", DELAYS_S[-1], count, more_cpu_s, math.inf)) for count in WORKERS]
        rows.append([told(records), *(f"{cell['groups_per_s']:.2g}, {cell['lost_per_commit']:.1f}, {100 * cell['gave_up']:.0f} %" for cell in cells)])
    print("Groups a second of N writers, attempts lost for each commit, commits that were given up\n")
    table(["records", *(f"{count:,}" for count in WORKERS)], rows)


def breaks(constants):
    """The number of records from which on something is more than anyone wants."""
    store = lambda records: Store(constants, records)  # noqa: E731
    limits = {
        "a group of a stream takes 1 s of processor": lambda n: store(n).group_cpu_s() > 1,
        "planning takes 1 s of processor": lambda n: store(n).plan_cpu_s() > 1,
        "a line more takes 10 s of processor": lambda n: store(n).append_cpu_s() > 10,
        "ends of data files fill what is kept (1 GiB)": lambda n: not store(n).kept(),
        "every process fetches 10 MB of the log": lambda n: store(n).read_again_bytes() > 1e7,
        "a checkpoint takes 100 MB": lambda n: store(n).checkpoint_bytes > 1e8,
        "planning takes 1 GB of memory": lambda n: store(n).plan_memory_mb() > 1000,
    }
    rows = [(next((n for n in (10 ** (7 + step / 20) for step in range(140)) if reached(n)), math.inf), name) for name, reached in limits.items()]
    print("Where it breaks\n")
    table(["from records", "what"], [[told(records), name] for records, name in sorted(rows)])


# ---------------------------------------------------------------- the simulation


class Writers:
    """N writers that hand over group after group: three commits each, one for each table's log.

    A commit is a look at the log, work in a window, and an entry that only one writer can create. Who finds that another's
    came in between looks again after a pause of 5 ms, then twice as long, up to 500 ms, between half and all of it, and gives
    up after 300 s. What others have committed since the last look is read first: processor time for each commit (by which
    that of a group grows with every further writer), and a round trip for all of them. On a disk, writers of a table queue at a
    lock instead.
    """

    TABLES = 3
    FIRST_PAUSE_S, LONGEST_PAUSE_S, DEADLINE_S = 0.005, 0.5, 300

    def __init__(self, constants, place, delay_s, count, more_cpu_s=0.0, cores=None):
        """As one writer was measured there; `more_cpu_s` of a group's processor time come on top, half of them in the window.
        With endless cores each writer has a machine of its own, and the server none that counts.
        """
        found = [each for each in constants.writers if each["place"] == place]
        one = next(each for each in found if (each["delay_s"], each["writers"]) == (delay_s, 1))
        nearest = [each for each in found if each["delay_s"] == found[0]["delay_s"]]
        apart = cores == math.inf
        cpu_s = lambda each: each["cpu_s_per_group"] + (0.0 if apart else each["server_cpu_s_per_group"])  # noqa: E731
        # What others leave of the processors: the most that these writers got.
        self.cores = cores or max(cpu_s(each) * each["groups_per_s"] for each in nearest)
        self.other_cpu_s = slope([(each["writers"], cpu_s(each)) for each in nearest])[1] / self.TABLES
        self.count, self.trip_s, self.queues = count, delay_s or 0.0, place == "disk"
        group_s = 1 / one["groups_per_s"] + more_cpu_s
        self.window_s = group_s / self.TABLES * DISK_WINDOW if self.queues else one["window_s"] + more_cpu_s / self.TABLES / 2
        self.outside_s = group_s / self.TABLES - self.window_s
        self.cpu_share = min(1.0, (cpu_s(one) + more_cpu_s) / self.cores / group_s)

    def group_s(self):
        return self.TABLES * (self.outside_s + self.window_s)


DISK_WINDOW = 0.75  # share of a commit in which the lock of its table is held; by the order of steps, not measured
SLICE_S = 0.005  # of a processor, until another writer has its turn


class Line:
    """Those who wait for a processor, or for the lock of a table."""

    def __init__(self, places):
        self.free, self.waiting = places, collections.deque()

    def take(self, then):
        if self.free >= 1:
            self.free -= 1
            then()
        else:
            self.waiting.append(then)

    def give(self):
        if self.waiting:
            self.waiting.popleft()()
        else:
            self.free += 1


class Simulation:
    """Events in the order of their time; each writer is a generator that says what it waits for."""

    def __init__(self, writers, seed=7):
        self.writers, self.random = writers, random.Random(seed)
        self.now_s, self.events, self.order = 0.0, [], itertools.count()
        self.cores = Line(1)
        self.locks = [Line(1 if writers.queues else math.inf) for _ in range(writers.TABLES)]
        self.versions = [0] * writers.TABLES
        self.waits, self.lost, self.gave_up = [], 0, 0
        for _ in range(writers.count):
            self.later(self.random.random() * writers.group_s(), self.writer())

    def later(self, after_s, writer):
        heapq.heappush(self.events, (self.now_s + after_s, next(self.order), writer))

    def work(self, seconds, share):
        """Time of which a share is a processor's, in slices."""
        if self.writers.cores == math.inf:
            yield "wait", seconds
            return
        while seconds > 1e-9:
            slice_s = min(seconds, SLICE_S)
            yield "take", self.cores
            yield "wait", slice_s * share
            yield "give", self.cores
            yield "wait", slice_s * (1 - share)
            seconds -= slice_s

    def others(self, commits):
        """Reading what they committed."""
        seconds = commits * self.writers.other_cpu_s
        return self.work(seconds if self.writers.cores == math.inf else seconds / self.writers.cores, 1.0)

    def writer(self):
        seen = list(self.versions)
        while True:
            begin_s = self.now_s
            for table in range(self.writers.TABLES):
                yield from self.work(self.writers.outside_s, self.writers.cpu_share)
                yield "take", self.locks[table]
                yield from self.commit(table, seen)
                yield "give", self.locks[table]
            self.waits.append(self.now_s - begin_s)

    def commit(self, table, seen):
        begin_s, pause_s = self.now_s, self.writers.FIRST_PAUSE_S
        while True:
            others, seen[table] = self.versions[table] - seen[table], self.versions[table]
            yield from self.work(self.writers.window_s, self.writers.cpu_share)
            if others:
                yield "wait", self.writers.trip_s
                yield from self.others(others)
            if self.versions[table] == seen[table]:
                self.versions[table] += 1
                seen[table] += 1
                return
            self.lost += 1
            if self.now_s - begin_s > self.writers.DEADLINE_S:
                self.gave_up += 1
                return
            yield "wait", self.writers.trip_s + pause_s * (0.5 + self.random.random() / 2)
            pause_s = min(2 * pause_s, self.writers.LONGEST_PAUSE_S)

    def step(self, writer):
        kind, what = next(writer)
        if kind == "wait":
            self.later(what, writer)
        elif kind == "take":
            what.take(lambda: self.later(0.0, writer))
        else:
            what.give()
            self.later(0.0, writer)

    def until(self, groups, at_most_s):
        while len(self.waits) < groups and self.now_s < at_most_s:
            self.now_s, _, writer = heapq.heappop(self.events)
            self.step(writer)


def simulated(writers):
    """Groups a second, the median wait for one, and attempts that were lost for each commit, and the share of commits that were given up."""
    simulation = Simulation(writers)
    warm = 2 * writers.count
    at_most_s = 1000 * writers.group_s()
    simulation.until(warm, at_most_s)
    begin_s, groups, commits = simulation.now_s, len(simulation.waits), sum(simulation.versions)
    simulation.lost = simulation.gave_up = 0
    simulation.until(groups + max(300, 2 * writers.count), begin_s + at_most_s)
    commits = max(1, sum(simulation.versions) - commits)
    return {
        "groups_per_s": commits / writers.TABLES / (simulation.now_s - begin_s),
        "wait_s": statistics.median(simulation.waits[groups:] or [math.inf]),
        "lost_per_commit": simulation.lost / commits,
        "gave_up": simulation.gave_up / (simulation.gave_up + commits),
    }


def simulate(options):
    """Beside the writers that were measured, and the sixteen of benches/README.md on two free processors."""
    constants = Constants(json.loads(options.constants.read_text()))
    sixteen = {"writers": 16, "delay_s": 0.0, "cores": 2}
    published = [
        {"place": "disk", "groups_per_s": 12.7, "wait_s": 1.25} | sixteen | {"delay_s": None},
        {"place": "bucket", "groups_per_s": 8.8, "wait_s": 0.98} | sixteen,
    ]
    rows = []
    for found in constants.writers + published:
        cores = 2 if found in published else None
        said = simulated(Writers(constants, found["place"], found["delay_s"], found["writers"], cores=cores))
        place = found["place"] if not found["delay_s"] else f"{found['place']}, {found['delay_s'] * 1000:.0f} ms away"
        pairs = [(said["groups_per_s"], found["groups_per_s"]), (said["wait_s"], found["wait_s"])]
        cells = [cell for a, b in pairs for cell in (f"{a:.2f}", f"{b:.2f}", percent(a, b))]
        rows.append([place, str(found["writers"]), *cells, f"{said['lost_per_commit']:.2f}"])
    heads = ["store", "writers", "groups a second, simulated", "measured", "off by", "wait s, simulated", "measured", "off by", "lost for each commit, simulated"]
    table(heads, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    measuring = commands.add_parser("measure")
    measuring.set_defaults(run=measure)
    measuring.add_argument("work", type=pathlib.Path)
    measuring.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    measuring.add_argument("--weed", default="weed")
    measuring.add_argument("--only")
    measuring.add_argument("--stages", type=lambda text: [int(count) for count in text.split(",")], default=None)
    measuring.add_argument("--delays-s", type=lambda text: [float(delay_s) for delay_s in text.split(",")], default=DELAYS_S)
    measuring.add_argument("--seconds", type=float, default=12.0)
    for name, command in (("model", model), ("simulate", simulate)):
        parts = commands.add_parser(name)
        parts.set_defaults(run=command)
        parts.add_argument("--constants", type=pathlib.Path, default=HERE / "scale.json")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
