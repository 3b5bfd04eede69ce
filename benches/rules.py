#!/usr/bin/env python3
"""What each optimizer rule gains: generated queries with the rule on and off, beside DuckDB.

    cargo build --release
    pip install duckdb
    python3 benches/rules.py STORE WORK [--queries 10] [--seed 1] [--rounds 3] [--only CLASS] [--rule NAME] [--json FILE]

WORK gets a DuckDB database with the records of STORE (once, as for the race). The queries of each class are drawn
from the seed. Each is run by new processes, four times in each: the first result counts from the start of the
process, for DuckDB from connect to fetch; the warm time is the median of executions two to four. A rule is
switched off only for queries whose plan it has changed, as `EXPLAIN` says. Results are compared with DuckDB's.

Printed are, by class, the geometric means of DuckDB's time over tsql's; and by rule and class how many times longer its
queries take without the rule, first and warm, worst class first.
"""

import argparse
import csv
import io
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "race"))

from engines import value  # noqa: E402
from run import TARGET, prepare, same, tsql  # noqa: E402

EXECUTIONS = 4
PARQUET = " (FORMAT parquet)"
DUCKDB = """
import duckdb, json, sys, time
begin = time.perf_counter()
connection = duckdb.connect(sys.argv[1], read_only=True)
connection.execute("SET TimeZone = 'UTC'; SET preserve_insertion_order = false")
seconds = []
for _ in range(int(sys.argv[3])):
    rows = connection.execute(sys.argv[2]).fetchall()
    seconds.append(time.perf_counter() - begin)
    begin = time.perf_counter()
print(json.dumps([seconds, rows], default=str))
"""


class Draw:
    """Parts of queries, drawn from a seed."""

    def __init__(self, seed, store):
        self.random = random.Random(seed)
        self.platforms, self.graphs, self.configs, self.days = store

    def one(self, *choices):
        return self.random.choice(choices)

    def platform(self):
        return f"platform = '{self.random.choice(self.platforms)}'"

    def graph(self):
        return f"graph_id = {self.random.choice(self.graphs)}"

    def some_graphs(self, count):
        return f"graph_id IN ({', '.join(self.random.sample(self.graphs, min(count, len(self.graphs))))})"

    def filter(self):
        """A condition that keeps much, or none."""
        return self.one(
            "",
            "",
            " WHERE error_no = 0",
            f" WHERE {self.platform()}",
            f" WHERE line < {self.random.randint(200, 3000)}",
            f" WHERE runtime_ns < {self.random.choice([1, 3, 10, 50])}e5",
        )

    def key(self):
        return self.one("platform", "graph_id", "environment_id", "repeat_count", "error_no", "line % 97", "source_id", "config_id % 1009")

    def measure(self):
        column = self.one("runtime_ns", "line", "repeat_count", "config_id % 1000")
        return self.one(f"min({column})", f"max({column})", f"sum({column})", f"avg({column})", "count(*)", f"count({column})")


def measures(draw):
    return ", ".join(f"{draw.measure()} AS m{place}" for place in range(draw.random.randint(1, 3)))


def selective(draw):
    where = draw.one(
        draw.graph(),
        f"{draw.graph()} AND {draw.platform()}",
        f"config_id = {draw.random.choice(draw.configs)}",
        f"{draw.some_graphs(3)} AND runtime_ns < {draw.random.randint(2, 40)}e4",
        f"line = {draw.random.randint(1, 3000)} AND {draw.platform()}",
    )
    return f"SELECT platform, config_id, line, runtime_ns FROM records WHERE {where} ORDER BY platform, config_id, line, runtime_ns LIMIT 500"


def topk(draw):
    key = draw.one("runtime_ns", "runtime_ns DESC", "line DESC, runtime_ns", "measured_at DESC")
    count, offset = draw.one(10, 100, 1000), draw.one("", "", " OFFSET 1000")
    columns = draw.one("runtime_ns", "runtime_ns, line", "platform, runtime_ns, config_id")
    return f"SELECT {columns} FROM records WHERE runtime_ns IS NOT NULL{draw.one('', f' AND {draw.platform()}')} ORDER BY {key}, source_id, line LIMIT {count}{offset}"


def best_of_each(draw):
    key = draw.one("graph_id", "platform", "platform, graph_id", "config_id % 10007", "source_id")
    order = "runtime_ns, source_id, line"
    count = draw.one(1, 1, 3)
    rows = draw.one(
        f"SELECT config_id FROM records{draw.filter()} QUALIFY row_number() OVER (PARTITION BY {key} ORDER BY {order}) <= {count}",
        f"SELECT config_id FROM (SELECT *, rank() OVER (PARTITION BY {key} ORDER BY {order}) AS place FROM records{draw.filter()}) WHERE place <= {count}",
        f"SELECT DISTINCT ON ({key}) config_id FROM records{draw.filter()} ORDER BY {key}, {order}",
        f"SELECT arg_min(line, runtime_ns * 4096 + line) AS config_id FROM records{draw.filter()} GROUP BY {key}",
    )
    return f"SELECT count(*) AS n, sum(config_id) AS s FROM ({rows})"


def grouped(draw):
    return f"SELECT {draw.key()} AS k, {measures(draw)} FROM records{draw.filter()} GROUP BY 1 ORDER BY 1 LIMIT 200"


def grouped_by_two(draw):
    first, second = draw.random.sample(["platform", "graph_id", "error_no", "repeat_count", "line % 97", "source_id"], 2)
    groups = draw.one("1, 2", "1, 2", "1, 2", f"ROLLUP ({first}, {second})")
    return f"SELECT {first} AS k, {second} AS l, {measures(draw)} FROM records{draw.filter()} GROUP BY {groups} ORDER BY 1, 2 LIMIT 200"


def joined(draw):
    key = draw.one("g.workload_key", "length(g.workload_key)", "r.platform", "r.graph_id")
    other = draw.one(
        "graphs AS g ON g.graph_id = r.graph_id",
        f"(SELECT graph_id, workload_key FROM graphs WHERE length(workload_key) % {draw.random.randint(2, 5)} = 0) AS g ON g.graph_id = r.graph_id",
    )
    pair = f"SELECT a.graph_id AS k, count(*) AS n, avg(a.runtime_ns / b.runtime_ns) AS m FROM (SELECT * FROM records WHERE {draw.platform()}) AS a JOIN (SELECT * FROM records WHERE {draw.platform()}) AS b ON a.config_id = b.config_id GROUP BY 1 ORDER BY 1 LIMIT 200"
    one = f"SELECT {key} AS k, count(*) AS n, {draw.one('min', 'avg', 'max')}(r.runtime_ns) AS m FROM records AS r JOIN {other} GROUP BY 1 ORDER BY 1 LIMIT 200"
    return draw.one(one, one, pair)


def window(draw):
    partition, order = draw.one("graph_id", "source_id", "platform", "graph_id, platform"), "source_id, line"
    if draw.random.random() < 0.3:
        function = draw.one("min(runtime_ns)", "avg(runtime_ns)", "count(*)", "max(line)")
        return f"SELECT count(*) AS n, avg(w) AS s FROM (SELECT {function} OVER (PARTITION BY {partition}) / runtime_ns AS w FROM records WHERE runtime_ns IS NOT NULL{draw.one('', f' AND {draw.platform()}')})"
    function = draw.one(
        "row_number()",
        "lag(runtime_ns)",
        "min(runtime_ns)",
        "sum(line)",
        "count(runtime_ns)",
    )
    frame = "" if "()" in function or "lag" in function else draw.one("", " ROWS BETWEEN 9 PRECEDING AND CURRENT ROW")
    return f"SELECT count(*) AS n, sum(w) AS s FROM (SELECT {function} OVER (PARTITION BY {partition} ORDER BY {order}{frame}) AS w FROM records{draw.filter()})"


def distinct(draw):
    return draw.one(
        f"SELECT count(DISTINCT {draw.one('config_id', 'graph_id', 'line', 'runtime_ns', 'source_id')}) AS n FROM records{draw.filter()}",
        f"SELECT {draw.one('platform', 'error_no', 'repeat_count')} AS k, count(DISTINCT {draw.one('config_id', 'graph_id', 'line')}) AS n FROM records{draw.filter()} GROUP BY 1 ORDER BY 1",
        f"SELECT count(*) AS n FROM (SELECT DISTINCT {draw.one('graph_id, platform', 'config_id', 'graph_id, line', 'platform, repeat_count')} FROM records{draw.filter()})",
    )


def lists(draw):
    element = f"repeats_ns[{draw.random.randint(1, 4)}]"
    return draw.one(
        f"SELECT {draw.one('platform', 'error_no', 'repeat_count')} AS k, {draw.one('min', 'avg', 'max')}({element}) AS m FROM records{draw.filter()} GROUP BY 1 ORDER BY 1",
        f"SELECT count(*) AS n FROM records WHERE {element} {draw.one('<', '>')} {draw.one('repeats_ns[2]', '1e6', 'runtime_ns')}",
        f"SELECT count(*) AS n, {draw.one('min', 'max', 'sum')}(u) AS m FROM (SELECT unnest(repeats_ns) AS u FROM records{draw.filter()})",
        f"SELECT count(*) AS n FROM records WHERE {draw.graph()} AND len(repeats_ns) > {draw.random.randint(2, 8)}",
    )


def set_operation(draw):
    column = draw.one("config_id", "graph_id", "graph_id, line")
    operation = draw.one("UNION", "INTERSECT", "EXCEPT")
    both = f"SELECT count(*) AS n FROM (SELECT {column} FROM records WHERE {draw.platform()} {operation} SELECT {column} FROM records WHERE {draw.platform()})"
    key = draw.one("platform", "error_no", "graph_id")
    united = f"SELECT {key} AS k, {draw.measure()} AS m FROM (SELECT * FROM records WHERE {draw.platform()} UNION ALL SELECT * FROM records WHERE {draw.platform()}) GROUP BY 1 ORDER BY 1 LIMIT 200"
    return draw.one(both, united)


def percentile(draw):
    quantile = draw.one("0.5", "0.95", "0.25")
    return draw.one(
        f"SELECT quantile_cont(runtime_ns, {quantile}) AS q FROM records{draw.filter()}",
        f"SELECT {draw.one('platform', 'error_no', 'graph_id')} AS k, quantile_cont(runtime_ns, {quantile}) AS q FROM records{draw.filter()} GROUP BY 1 ORDER BY 1 LIMIT 200",
        f"SELECT {draw.one('platform', 'repeat_count')} AS k, median({draw.one('line', 'runtime_ns')}) AS q FROM records{draw.filter()} GROUP BY 1 ORDER BY 1",
    )


def time_series(draw):
    unit = draw.one("hour", "day", "minute")
    begin = draw.random.choice(draw.days)
    where = draw.one("", f" WHERE measured_at >= '{begin}'", f" WHERE measured_at >= '{begin}' AND {draw.platform()}")
    return f"SELECT date_part('epoch', date_trunc('{unit}', measured_at)) AS k, {measures(draw)} FROM records{where} GROUP BY 1 ORDER BY 1 LIMIT 200"


def export(draw):
    columns = draw.one("*", "platform, graph_id, config_id, runtime_ns", "graph_id, repeats_ns", "config_id, line, measured_at")
    where = draw.one(draw.platform(), draw.some_graphs(40), f"line < {draw.random.randint(100, 400)}")
    return f"COPY (SELECT {columns} FROM records WHERE {where}) TO '{{output}}'{PARQUET}"


CLASSES = {
    "selective filter": selective,
    "top-k": topk,
    "best of each": best_of_each,
    "group by one key": grouped,
    "group by two keys": grouped_by_two,
    "join and aggregate": joined,
    "window": window,
    "distinct": distinct,
    "list column": lists,
    "set operation": set_operation,
    "percentile": percentile,
    "time series": time_series,
    "export": export,
}


def run_tsql(options, sql, off=()):
    """Seconds of the first result and of a warm execution, and the rows."""
    sql = sql.replace(PARQUET, " STORED AS PARQUET")
    switches = [f"SET tsql.rules.{rule} = false" for rule in off]
    text = "; ".join([*switches, *[sql] * EXECUTIONS])
    command = [options.tsql, "--store", options.store, "--timer", "--format", "csv", "-c", text]
    begin = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True)
    process = time.perf_counter() - begin
    if done.returncode:
        return {"error": done.stderr.strip()[:300]}
    timers = [line for line in done.stderr.splitlines() if " in " in line]
    seconds = [float(line.split(" in ")[1].split()[0]) for line in timers][-EXECUTIONS:]
    lines = list(csv.reader(io.StringIO(done.stdout)))
    rows = lines[len(lines) // EXECUTIONS * (EXECUTIONS - 1) + 1 :]
    return {
        "first": process - sum(seconds[1:]),
        "second": seconds[1] / seconds[0],
        "warm": statistics.median(seconds[1:]),
        "rows": [[value(field) for field in row] for row in rows],
    }


def run_duckdb(options, sql):
    command = [sys.executable, "-c", DUCKDB, str(options.work / "race.duckdb"), sql, str(EXECUTIONS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1][:300]}
    # DuckDB writes the progress of long queries before it.
    seconds, rows = json.loads(done.stdout.splitlines()[-1])
    return {"first": seconds[0], "second": seconds[1] / seconds[0], "warm": statistics.median(seconds[1:]), "rows": rows}


def changed_rules(options, sql):
    """The optimizations that have changed a plan."""
    if sql.startswith("COPY"):
        sql = sql[len("COPY (") : sql.index(") TO '")]
    rows = csv.reader(io.StringIO(tsql(options.tsql, options.store, "--format", "csv", f"EXPLAIN {sql}")))
    changed = next((plan for kind, plan in rows if kind == "rules"), "")
    return [rule for rule in changed.split(", ") if rule in options.optimizations]


def of_store(options):
    """Values that queries are about."""

    def column(sql):
        return tsql(options.tsql, options.store, "--format", "csv", sql).split("\n")[1:-1]

    platforms = column("SELECT DISTINCT platform FROM records ORDER BY 1")
    graphs = column("SELECT DISTINCT graph_id FROM records ORDER BY graph_id % 1009, graph_id LIMIT 200")
    configs = column("SELECT DISTINCT config_id FROM records ORDER BY config_id % 1009, config_id LIMIT 200")
    days = column("SELECT DISTINCT date_trunc('day', measured_at) FROM records WHERE line = 1 ORDER BY 1 LIMIT 20")
    return platforms, graphs, configs, days


def medians(results):
    return {kind: statistics.median(result[kind] for result in results) for kind in ("first", "second", "warm")}


def geometric(ratios):
    return math.exp(statistics.fmean(map(math.log, ratios)))


def measure(options, sql):
    """Times with all rules on, with each off that has changed the plan, and of DuckDB; interleaved."""
    rules = changed_rules(options, sql)
    rules = [rule for rule in rules if options.rule in ("", rule)]
    ours, theirs, without, rows = [], [], defaultdict(list), {}
    copies = {name: options.work / f"{name}.parquet" for name in ("ours", "theirs")}
    for _ in range(options.rounds):
        runs = [("tsql", ours, lambda: run_tsql(options, sql.format(output=copies["ours"])))]
        runs += [("duckdb", theirs, lambda: run_duckdb(options, sql.format(output=copies["theirs"])))]
        for rule in rules:
            runs.append((rule, without[rule], lambda rule=rule: run_tsql(options, sql.format(output=copies["ours"]), [rule])))
        for name, results, run in runs:
            result = run()
            if "error" in result:
                print(f"{name}: {result['error']}\n    {sql}", flush=True)
                return None
            rows[name] = result["rows"]
            results.append(result)
    for name in rows:
        if not sql.startswith("COPY") and name != "duckdb" and not same(rows[name], rows["duckdb"], 9):
            print(f"{name} and DuckDB differ: {rows[name][:3]} and {rows['duckdb'][:3]}\n    {sql}", flush=True)
    return medians(ours), medians(theirs), {rule: medians(results) for rule, results in without.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--queries", type=int, default=10, help="of each class")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="classes whose names match this regular expression")
    parser.add_argument("--rule", default="", help="switch off this one only")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    options.work = options.work.resolve()
    prepare(options.tsql, options.store, options.work)
    shown = csv.reader(io.StringIO(tsql(options.tsql, options.store, "--format", "csv", "SHOW tsql.rules")))
    options.optimizations = [row[0] for row in list(shown)[1:] if not row[2].startswith("Workaround")]
    values, found = of_store(options), []
    for name, generate in CLASSES.items():
        if not re.search(options.only, name):
            continue
        draw = Draw(f"{options.seed} {name}", values)
        for _ in range(options.queries):
            sql = generate(draw)
            times = measure(options, sql)
            if times:
                found.append({"class": name, "sql": sql, "tsql": times[0], "duckdb": times[1], "without": times[2]})
        report_class(name, [one for one in found if one["class"] == name])
        if options.json:
            options.json.write_text(json.dumps(found, indent=1))
    report_rules(found)


def report_class(name, found):
    if not found:
        return
    ratios = {kind: [one["duckdb"][kind] / one["tsql"][kind] for one in found] for kind in ("first", "warm")}
    second = max(one["tsql"]["second"] for one in found)
    slowest = min(found, key=lambda one: one["duckdb"]["first"] / one["tsql"]["first"])
    print(f"{name}: {len(found)} queries, DuckDB / tsql first {geometric(ratios['first']):.2f}, warm {geometric(ratios['warm']):.2f}; second execution at most {second:.2f} times the first")
    print(
        f"    slowest first ({slowest['tsql']['first']:.2f} s for {slowest['duckdb']['first']:.2f}): {slowest['sql']}",
        flush=True,
    )


def report_rules(found):
    gains = defaultdict(list)
    for one in found:
        for rule, times in one["without"].items():
            gains[rule, one["class"]].append(tuple(times[kind] / one["tsql"][kind] for kind in ("first", "warm")))
    rows = [
        (rule, name, len(ratios), geometric([first for first, _ in ratios]), geometric([warm for _, warm in ratios]))
        for (rule, name), ratios in gains.items()
    ]
    print(f"\n{'rule':26}{'class':22}{'queries':>8}{'first':>8}{'warm':>8}")
    for rule, name, count, first, warm in sorted(rows, key=lambda row: (row[0], max(row[3], row[4]))):
        print(f"{rule:26}{name:22}{count:8}{first:8.2f}{warm:8.2f}")


if __name__ == "__main__":
    main()
