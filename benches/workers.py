#!/usr/bin/env python3
"""Workers beside one machine: are the answers the same, how is the work divided, what does it cost, what if one is lost?

    python3 benches/workers.py answers STORE    # every question with 1, 2, 3 workers and 1, 2, 8 partitions
    python3 benches/workers.py work STORE       # processor time of 3 workers, the coordinator, and one machine
    python3 benches/workers.py clock STORE      # time with 1, 2, 4 workers that have half a core each (root, cgroups)
    python3 benches/workers.py small STORE      # questions that stay here: what --workers costs them
    python3 benches/workers.py faults STORE --count 200    # workers killed, stopped, told to end at random moments

Questions are those of the race, the ready-made ones that the store has data for, and those below. STORE is a folder or a
bucket; workers run on this machine. Whatever differs by more than nine digits is printed, and the exit code is 1.
"""

import argparse
import csv
import io
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "race"))

from questions import QUESTIONS as RACE, words  # noqa: E402
from run import same  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
CGROUP = pathlib.Path("/sys/fs/cgroup/cpu/tsql-bench")
TICKS = os.sysconf("SC_CLK_TCK")
DIGITS = 9

OWN = {
    "five-way join": """SELECT r.platform, g.dataset, e.target, count(*), avg(r.runtime_ns) FROM records r
        JOIN configurations c USING (config_id) JOIN graphs g ON g.graph_id = c.graph_id
        JOIN environments e ON e.environment_id = r.environment_id JOIN sources s ON s.source_id = r.source_id
        GROUP BY 1, 2, 3""",
    "rank in each platform": """SELECT platform, p, max(runtime_ns) FROM (SELECT platform, runtime_ns,
        rank() OVER (PARTITION BY platform ORDER BY runtime_ns, source_id, line) AS p
        FROM records WHERE error_no = 0) WHERE p % 1000 = 1 GROUP BY 1, 2""",
    "graphs without a good record": """SELECT count(*) FROM graphs g WHERE NOT EXISTS (SELECT 1 FROM configurations c
        JOIN records r USING (config_id) WHERE c.graph_id = g.graph_id AND r.error_no = 0)""",
    "outer join": "SELECT g.graph_id, count(c.config_id) FROM graphs g LEFT JOIN configurations c USING (graph_id) GROUP BY 1",
    "full join": """SELECT count(*), count(a.config_id), count(b.config_id) FROM (SELECT config_id FROM records WHERE
        platform = 'k80') a FULL JOIN (SELECT config_id FROM records WHERE platform <> 'k80') b USING (config_id)""",
    "repeats unnested": "SELECT platform, avg(x), count(*) FROM (SELECT platform, unnest(repeats_ns) AS x FROM records) GROUP BY 1",
    "distinct of two": "SELECT count(DISTINCT config_id), count(DISTINCT platform) FROM records",
    "rollup": "SELECT platform, error_no, count(*) FROM records GROUP BY ROLLUP (platform, error_no)",
    "union": """SELECT 'a' AS k, count(*) FROM records WHERE runtime_ns > 0 UNION ALL SELECT 'b', count(*) FROM configurations
        WHERE graph_id <> 0 UNION ALL SELECT 'c', 7""",
    "CTE used twice": """WITH b AS (SELECT config_id, min(runtime_ns) AS m FROM records WHERE error_no = 0 GROUP BY 1)
        SELECT count(*) FROM b x JOIN b y ON x.config_id = y.config_id AND x.m <= y.m""",
    "correlated": """SELECT count(*) FROM records r WHERE runtime_ns < (SELECT avg(runtime_ns) FROM records q
        WHERE q.platform = r.platform)""",
    "scalar subquery": "SELECT count(*) FROM records WHERE runtime_ns > (SELECT avg(runtime_ns) FROM records)",
    "NOT IN": "SELECT count(*) FROM configurations WHERE config_id NOT IN (SELECT config_id FROM records WHERE error_no = 0)",
    "inner limit": "SELECT count(*) FROM (SELECT * FROM records LIMIT 100)",
    "first rows": """SELECT line, runtime_ns FROM records WHERE error_no = 0 ORDER BY runtime_ns DESC, source_id, line
        LIMIT 20""",
    "pattern over sketches": """SELECT count(*), max(length(sketch)) FROM records r JOIN configurations c USING (config_id)
        WHERE sketch LIKE '%SP%'""",
    "texts": "SELECT platform, length(string_agg(CAST(config_id AS VARCHAR), ',')) FROM records GROUP BY 1",
    "intersect": """SELECT count(*) FROM (SELECT config_id FROM records WHERE platform = 'k80'
        INTERSECT SELECT config_id FROM records WHERE platform <> 'k80')""",
    "except": "SELECT count(*) FROM (SELECT config_id FROM records EXCEPT SELECT config_id FROM records WHERE error_no <> 0)",
    "moving sum": """SELECT count(*), max(s) FROM (SELECT sum(runtime_ns) OVER (PARTITION BY platform ORDER BY source_id, line
        ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) AS s FROM records WHERE error_no = 0)""",
    "step to the next": """SELECT count(*) FROM (SELECT runtime_ns - lag(runtime_ns) OVER (ORDER BY source_id, line) AS d
        FROM records) WHERE d > 0""",
    "measured on two": "SELECT count(*) FROM records a JOIN records b ON a.config_id = b.config_id AND a.platform < b.platform",
    "graphs within 5 %": """SELECT count(*) FROM (SELECT graph_id, min(runtime_ns) AS m FROM records WHERE platform = 'k80' GROUP BY 1) a
        JOIN (SELECT graph_id, min(runtime_ns) AS m FROM records WHERE platform <> 'k80' GROUP BY 1) b
        ON a.graph_id = b.graph_id AND abs(a.m - b.m) < 0.05 * a.m""",
}

# Each takes long enough to be divided, and each something else: decoding, repeats, a shuffle.
LONG = {
    "noise of the repeats": "SELECT platform, avg(noise), max(noise) FROM records WHERE error_no = 0 GROUP BY platform",
    "repeats unnested": OWN["repeats unnested"],
    "join by shuffle": OWN["measured on two"],
}

SMALL = {
    "sum": "SELECT sum(runtime_ns) FROM records",
    "group by platform": "SELECT platform, count(*), avg(runtime_ns) FROM records GROUP BY platform",
    "one graph": "SELECT config_id, runtime_ns FROM records WHERE platform = 't4' AND graph_id = {graph}",
    "first rows": "SELECT config_id FROM records LIMIT 10",
}


class Worker:
    """A worker of this machine."""

    def __init__(self, binary, store, cgroup=None):
        def enter():
            if cgroup:
                (cgroup / "cgroup.procs").write_text(str(os.getpid()))

        arguments = [binary, "worker", "--listen", "127.0.0.1:0", "--store", store]
        self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, preexec_fn=enter)
        line = self.process.stderr.readline()
        assert line.startswith("worker listens on "), line
        self.address = line.removeprefix("worker listens on ").split(",")[0]

    def seconds(self):
        """Processor time so far."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return sum(map(int, fields[11:13])) / TICKS

    def running(self):
        with urllib.request.urlopen(f"http://{self.address}/status", timeout=20) as answer:
            return json.load(answer)["running"]

    def end(self):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def ask(binary, store, arguments, workers=(), partitions=None, least_rows=None):
    """Starts a question; `answer` waits for it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TSQL_WORKERS")}
    if workers:
        environment["TSQL_WORKERS"] = ",".join(worker.address for worker in workers)
    if least_rows is not None:
        environment["TSQL_WORKERS_LEAST_ROWS"] = str(least_rows)
    if partitions:
        environment["DATAFUSION_EXECUTION_TARGET_PARTITIONS"] = str(partitions)
    arguments = [binary, "--store", store, "--stats", *arguments, "--format", "csv"]
    return subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process, timeout=300):
    """Exit code, rows, what was said, and processor seconds."""
    before = os.times()
    try:
        rows, said = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        rows, said = process.communicate()
        return 124, [], f"no answer in {timeout} s\n{said}", 0
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    return process.returncode, list(csv.reader(io.StringIO(rows))), said, seconds


def values(binary, store):
    """What questions ask for: the graph with most records, one of its programs, fifty graphs, the two largest platforms."""
    def ids(sql):
        return [row[0] for row in answer(ask(binary, store, [sql]))[1][1:]]

    graph = ids("SELECT graph_id FROM records GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1")[0]
    config = ids(f"SELECT config_id FROM records WHERE graph_id = {graph} ORDER BY 1 LIMIT 1")[0]
    graphs = ids("SELECT DISTINCT graph_id FROM records ORDER BY 1 LIMIT 50")
    platforms = ids("SELECT platform FROM records WHERE error_no = 0 GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 2")
    return {"graph": graph, "config": config, "graphs": ", ".join(graphs), "platforms": platforms}


def questions(binary, store):
    """All questions by name, each as arguments of the command."""
    example = values(binary, store)
    found = {name: [words(name, "tsql").format(**example)] for name in RACE if words(name, "tsql")}
    listed = subprocess.run([binary, "queries", "--format", "csv"], capture_output=True, text=True, check=True)
    first, second = example["platforms"]
    for row in csv.DictReader(io.StringIO(listed.stdout)):
        of = {"platform": first, "platform_a": first, "from_platform": first, "platform_b": second, "to_platform": second}
        given = [f"{name}={of[name]}" for name in row["parameters"].split() if name in of]
        found[row["name"]] = ["queries", row["name"], *(word for one in given for word in ("--set", one))]
    return found | {name: [sql] for name, sql in OWN.items()}


def answers(options):
    workers = [Worker(options.tsql, options.store) for _ in range(3)]
    counts = {"asked": 0, "sent": 0, "different": 0, "not answered here": 0}
    for name, arguments in questions(options.tsql, options.store).items():
        code, wanted, said, _ = answer(ask(options.tsql, options.store, arguments))
        if code != 0:
            counts["not answered here"] += 1
            print(f"{name}: {next((line for line in said.splitlines() if line.startswith('error')), said)}")
            continue
        for count in (1, 2, 3):
            for partitions in (1, 2, 8):
                asked = ask(options.tsql, options.store, arguments, workers[:count], partitions, least_rows=1)
                code, found, said, _ = answer(asked)
                counts["asked"] += 1
                counts["sent"] += "workers: sent to" in said
                if code != 0 or not same(wanted, found, DIGITS):
                    counts["different"] += 1
                    print(f"DIFFERENT: {name}, {count} workers, {partitions} partitions, {len(wanted)} and {len(found)} rows\n{said}")
                elif (count, partitions) == (3, 2) and "sent to" not in said:
                    reason = [line for line in said.splitlines() if line.startswith("workers:")]
                    print(f"{name}: {'; '.join(reason)}"[:150], flush=True)
    for worker in workers:
        worker.end()
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    return counts["different"]


def work(options):
    workers = [Worker(options.tsql, options.store) for _ in range(3)]
    print("| processor seconds | one machine | 3 workers and the coordinator | each worker | coordinator | more |")
    print("|---|---|---|---|---|---|")
    different = 0
    for name, sql in LONG.items():
        rounds = []
        for place in range(options.rounds + 1):
            _, wanted, _, alone = answer(ask(options.tsql, options.store, [sql]))
            before = [worker.seconds() for worker in workers]
            _, found, said, here = answer(ask(options.tsql, options.store, [sql], workers, least_rows=1))
            assert "sent to 3 workers" in said, said
            each = [worker.seconds() - was for worker, was in zip(workers, before)]
            different += not same(wanted, found, DIGITS)
            # In the first round, footers are read.
            if place:
                rounds.append((alone, sum(each) + here, each, here))
        alone, there = (statistics.median(row[place] for row in rounds) for place in (0, 1))
        each = [statistics.median(row[2][place] for row in rounds) for place in range(3)]
        here = statistics.median(row[3] for row in rounds)
        shown = ", ".join(f"{seconds:.2f}" for seconds in each)
        print(f"| {name} | {alone:.2f} | {there:.2f} | {shown} | {here:.2f} | {100 * (there / alone - 1):.0f} % |", flush=True)
    for worker in workers:
        worker.end()
    return different


def limited(place):
    """A control group that may use half a core."""
    group = CGROUP / str(place)
    group.mkdir(parents=True, exist_ok=True)
    (group / "cpu.cfs_period_us").write_text("20000")
    (group / "cpu.cfs_quota_us").write_text("10000")
    return group


def clock(options):
    groups = [limited(place) for place in range(4)]
    print("| seconds, median (least-greatest) | 1 worker | 2 workers | 4 workers | 1 / 4 |")
    print("|---|---|---|---|---|")
    different = 0
    for name, sql in LONG.items():
        _, wanted, _, _ = answer(ask(options.tsql, options.store, [sql]))
        times = {}
        for count in (1, 2, 4):
            workers = [Worker(options.tsql, options.store, group) for group in groups[:count]]
            times[count] = []
            for place in range(options.rounds + 1):
                begin = time.perf_counter()
                _, found, said, _ = answer(ask(options.tsql, options.store, [sql], workers, least_rows=1))
                assert f"sent to {count} worker" in said, said
                different += not same(wanted, found, DIGITS)
                if place:
                    times[count].append(time.perf_counter() - begin)
            for worker in workers:
                worker.end()
        shown = [f"{statistics.median(t):.2f} ({min(t):.2f}-{max(t):.2f})" for t in times.values()]
        ratio = statistics.median(times[1]) / statistics.median(times[4])
        print(f"| {name} | {' | '.join(shown)} | {ratio:.2f} |", flush=True)
    for group in groups:
        group.rmdir()
    CGROUP.rmdir()
    return different


def small(options):
    example = values(options.tsql, options.store)
    workers = [Worker(options.tsql, options.store) for _ in range(3)]
    print("| ms, median | one machine | with --workers | difference |")
    print("|---|---|---|---|")
    for name, sql in SMALL.items():
        times = {False: [], True: []}
        for _ in range(10 * options.rounds):
            for given, list_ in times.items():
                begin = time.perf_counter()
                _, _, said, _ = answer(ask(options.tsql, options.store, [sql.format(**example)], workers if given else ()))
                list_.append(1000 * (time.perf_counter() - begin))
                assert "sent to" not in said, said
        alone, given = (statistics.median(times[given]) for given in (False, True))
        print(f"| {name} | {alone:.1f} | {given:.1f} | {given - alone:+.1f} |", flush=True)
    for worker in workers:
        worker.end()
    return 0


def faults(options):
    """A question each, during which a worker is killed, stopped, or told to end."""
    sql = LONG["repeats unnested"]
    workers = [Worker(options.tsql, options.store) for _ in range(3)]
    begin = time.perf_counter()
    _, wanted, _, _ = answer(ask(options.tsql, options.store, [sql]))
    answer(ask(options.tsql, options.store, [sql], workers, least_rows=1))
    usual = (time.perf_counter() - begin) / 2
    chance = random.Random(options.seed)
    ends = {"right": 0, "error": 0, "WRONG": 0}
    lost, longest = 0, 0.0
    for fault in range(options.count):
        asked = ask(options.tsql, options.store, [sql], workers, least_rows=1)
        time.sleep(chance.uniform(0, 1.2 * usual))
        victim = chance.randrange(3)
        what = chance.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM])
        workers[victim].process.send_signal(what)
        hit = time.perf_counter()
        code, found, said, _ = answer(asked, timeout=120)
        longest = max(longest, time.perf_counter() - hit)
        lost += "was lost" in said
        end = "error" if code not in (0, 124) else "right" if code == 0 and same(wanted, found, DIGITS) else "WRONG"
        ends[end] += 1
        if end != "right":
            print(f"fault {fault}, {what.name}: {end}: {said}", flush=True)
        workers[victim].end()
        workers[victim] = Worker(options.tsql, options.store)
    idle = time.perf_counter()
    while any(worker.running() for worker in workers):
        assert time.perf_counter() - idle < 15, "work goes on that nobody waits for"
        time.sleep(0.05)
    for worker in workers:
        worker.end()
    ended = ", ".join(f"{count} {end}" for end, count in ends.items())
    print(f"{options.count} faults in questions of {usual:.1f} s: {ended}; {lost} workers were missed; at most {longest:.1f} s after a fault")
    return ends["WRONG"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["answers", "work", "clock", "small", "faults"])
    parser.add_argument("store")
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=19)
    options = parser.parse_args()
    print(subprocess.run([options.tsql, "--version"], capture_output=True, text=True, check=True).stdout.strip())
    sys.exit(1 if globals()[options.what](options) else 0)


if __name__ == "__main__":
    main()
