#!/usr/bin/env python3
"""The race: tsql beside DuckDB, ClickHouse (chDB), Polars and plain DataFusion over the same records.

    cargo build --release
    cargo run --release --manifest-path benches/tenset_generate/Cargo.toml -- --store STORE --tsql target/release/tsql
    target/release/tsql --store STORE optimize
    pip install duckdb chdb polars datafusion pyarrow
    python3 benches/race/run.py STORE WORK [--rounds 3] [--further] [--cold] [--only WORD] [--engines a,b] [--json FILE]

WORK is filled with the peers' copies first (once): 48 plain Parquet files by platform and graph, written by
DuckDB with zstd from tsql's own answer, and a DuckDB database. Then every engine answers every question in
turn, `--rounds` times, after one answer that does not count. All of them use all cores; the page
cache is warm; with `--cold` each asking is the first of a process, and files are not in the page cache. Printed are medians in milliseconds, with the least and the greatest; each answer is
compared with that of DuckDB's database, numbers to nine digits.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from engines import Cold, Peer, Tsql  # noqa: E402
from questions import FURTHER, QUESTIONS, RACE, words  # noqa: E402

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
COLUMNS = """platform, graph_id, config_id, runtime_ns, repeat_count, error_no, all_cost_s, measured_at,
repeats_ns, environment_id, source_id, line"""
FILES_PER_PLATFORM = 8


def tsql(binary, store, *arguments):
    command = [binary, "--store", store, *arguments]
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def prepare(binary, store, work):
    """Plain Parquet files and a DuckDB database with the store's records."""
    import duckdb

    plain = work / "plain"
    if not (plain / "done").exists():
        plain.mkdir(parents=True, exist_ok=True)
        tsql(binary, store, "-o", plain / "graphs.parquet", "SELECT graph_id, workload_key FROM graphs")
        platforms = tsql(binary, store, "SELECT DISTINCT platform FROM records ORDER BY 1").split()[1:]
        for platform in platforms:
            copy = work / "copy.parquet"
            tsql(binary, store, "-o", copy, f"SELECT {COLUMNS} FROM records WHERE platform = '{platform}'")
            connection = duckdb.connect()
            connection.execute("SET TimeZone = 'UTC'")
            bounds = connection.execute(
                f"SELECT quantile_disc(graph_id, [{', '.join(str(k / FILES_PER_PLATFORM) for k in range(1, FILES_PER_PLATFORM))}]) FROM '{copy}'"
            ).fetchone()[0]
            edges = [-(2**63), *[bound + 1 for bound in bounds], 2**63 - 1]
            for part, (low, high) in enumerate(zip(edges, edges[1:])):
                connection.execute(
                    f"""COPY (SELECT * FROM '{copy}' WHERE graph_id >= {low} AND graph_id < {high} ORDER BY graph_id, source_id, line)
                    TO '{plain}/records-{platform}-{part}.parquet' (FORMAT parquet, COMPRESSION zstd)"""
                )
            connection.close()
            copy.unlink()
        (plain / "done").touch()
    folder = plain / "records"  # DataFusion wants a folder of its own
    if not folder.exists():
        folder.mkdir()
        for file in plain.glob("records-*.parquet"):
            os.link(file, folder / file.name)
    database = work / "race.duckdb"
    if not database.exists():
        unfinished = work / "unfinished.duckdb"
        unfinished.unlink(missing_ok=True)
        connection = duckdb.connect(str(unfinished))
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute(f"CREATE TABLE records AS SELECT * FROM read_parquet('{plain}/records-*.parquet') ORDER BY platform, graph_id, line")
        connection.execute(f"CREATE TABLE graphs AS SELECT * FROM '{plain}/graphs.parquet'")
        connection.close()
        unfinished.rename(database)


def canonical(rows):
    """Rows in an order that does not depend on the last digits of a fraction."""

    def key(field):
        if field is None or isinstance(field, str):
            return (1, str(field))
        number = float(field)
        return (0, field if number.is_integer() else float(f"{number:.6e}"))

    rows = ([as_number(field) for field in row] for row in rows)
    return sorted(rows, key=lambda row: [key(field) for field in row])


def as_number(field):
    if field == "":
        return None
    if isinstance(field, str):
        try:
            return float(field) if not field.lstrip("-").isdigit() else int(field)
        except ValueError:
            return field
    return field


def same(ours, theirs, digits):
    if len(ours) != len(theirs):
        return False

    def equal(a, b):
        if isinstance(a, str) or isinstance(b, str) or a is None or b is None:
            return a == b
        return math.isclose(a, b, rel_tol=10.0**-digits, abs_tol=1e-12)

    return all(
        len(a) == len(b) and all(equal(x, y) for x, y in zip(a, b))
        for a, b in zip(canonical(ours), canonical(theirs))
    )


def example_values(binary, store):
    """A graph, a program and five held-out graphs of each kind."""
    def ids(sql):
        return tsql(binary, store, "--format", "csv", sql).split()[1:]

    graph = ids("SELECT graph_id FROM records WHERE platform = 't4' GROUP BY 1 HAVING count(*) >= 4000 ORDER BY 1 LIMIT 1 OFFSET 7")[0]
    config = ids(f"SELECT config_id FROM records WHERE platform = 't4' AND graph_id = {graph} ORDER BY 1 LIMIT 1 OFFSET 1234")[0]
    cpu = ids("SELECT graph_id FROM records WHERE platform = 'e5-2673' GROUP BY 1 ORDER BY 1 LIMIT 27 OFFSET 11")
    gpu = ids("SELECT graph_id FROM records WHERE platform = 'k80' GROUP BY 1 ORDER BY 1 LIMIT 27 OFFSET 11")
    return {"graph": graph, "config": config, "graphs": ", ".join(cpu + gpu)}


def starter(name, options, work, limits):
    """What starts an engine."""
    if name == "tsql":
        return lambda: Tsql(options.tsql, options.store, limits, options.asked, first=options.cold)
    if name == "duckdb native":
        return lambda: Peer("duckdb", work, "native")
    if name == "duckdb on tsql's files":
        return lambda: Peer("duckdb", work, f"{options.store}/records/*/*/*.parquet")
    return lambda: Peer(name, work, "plain")


def exported(path):
    """What an exported training set holds, as one row."""
    import duckdb

    sql = f"SELECT count(*), sum(runtime_ns), sum(list_sum(repeats_ns)), sum(config_id), sum(graph_id / 1e9) FROM '{path}'"
    return [list(duckdb.connect().execute(sql).fetchone())]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store")
    parser.add_argument("work", type=pathlib.Path)
    parser.add_argument("--tsql", default=str(TARGET / "release" / "tsql"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--asked", type=int, default=3, help="how often tsql is asked before its answer counts: the peers two to four times")
    parser.add_argument("--only", default="")
    parser.add_argument("--further", action="store_true", help="57 further queries of the development set, instead of the 26")
    parser.add_argument("--cold", action="store_true", help="first answers of processes, without what the page cache has")
    parser.add_argument("--engines", default="tsql,duckdb native,duckdb,chdb,polars,datafusion,duckdb on tsql's files")
    parser.add_argument("--memory-limit")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args()
    work = options.work.resolve()
    prepare(options.tsql, options.store, work)
    limits = ["--memory-limit", options.memory_limit] if options.memory_limit else []
    wanted = options.engines.split(",")
    engines = {}
    for name in dict.fromkeys(["duckdb native", *wanted]):
        start = starter(name, options, work, limits)
        engines[name] = Cold(start, [options.store, work]) if options.cold else start()
    print("versions:", ", ".join(f"{name} {engine.version}" for name, engine in engines.items()))
    values = example_values(options.tsql, options.store)
    results, notes = {}, []
    for question in FURTHER if options.further else RACE:
        if options.only not in question:
            continue
        times = {name: [] for name in engines}
        answers = {}
        for turn in range(options.rounds + 1):
            for name, engine in engines.items():
                family = name.split()[0]
                text = words(question, family)
                if text is None or answers.get(name) == "no":
                    continue
                output = work / "export.parquet" if QUESTIONS[question].get("export") else None
                reply = engine.ask(text.format(**values), output)
                if "error" in reply:
                    notes.append(f"{name}: {question}: {reply['error']}")
                    answers[name] = "no"
                elif turn == 0:
                    answers[name] = exported(output) if output else reply["rows"]
                else:
                    times[name].append(reply["seconds"])
        truth = answers.get("duckdb native")
        for name in engines:
            if answers.get(name) not in ("no", None) and not same(answers[name], truth, QUESTIONS[question].get("digits", 9)):
                notes.append(f"{name}: {question}: another answer: {str(canonical(answers[name])[:2])[:150]} and not {str(canonical(truth)[:2])[:150]}")
                if name == "tsql":
                    print("WRONG", notes[-1])
        results[question] = {name: sorted(each) for name, each in times.items()}
        show_row(question, results[question])
    for engine in engines.values():
        engine.close()
    table(results, engines)
    print("\n".join(notes))
    if options.json:
        options.json.write_text(json.dumps({"versions": {n: e.version for n, e in engines.items()}, "results": results, "notes": notes}, indent=1))


def milliseconds(times):
    if not times:
        return "-"
    middle = statistics.median(times) * 1000
    digits = 1 if middle < 10 else 0
    return f"{middle:.{digits}f} ({times[0] * 1000:.{digits}f}-{times[-1] * 1000:.{digits}f})"


def show_row(question, times):
    print(question, "|", " | ".join(f"{name} {milliseconds(each)}" for name, each in times.items()), flush=True)


def table(results, engines):
    names = [name for name in ["tsql", *engines] if name in engines]
    names = list(dict.fromkeys(names))
    print("\n| ms, median (least-greatest) | " + " | ".join(names) + " | best peer / tsql |")
    print("|---" * (len(names) + 2) + "|")
    ratios = []
    for question, times in results.items():
        ratio = "-"
        peers = [statistics.median(each) for name, each in times.items() if name != "tsql" and each]
        if times.get("tsql") and peers:
            ratios.append(min(peers) / statistics.median(times["tsql"]))
            ratio = f"{ratios[-1]:.2f}"
        print(f"| {question} | " + " | ".join(milliseconds(times.get(name)) for name in names) + f" | {ratio} |")
    if ratios:
        mean = math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))
        print(f"\ngeometric mean of best peer / tsql: {mean:.2f}; first in {sum(r >= 1 for r in ratios)} of {len(ratios)}")
        for name in names[1:]:
            pairs = [(statistics.median(t[name]), statistics.median(t["tsql"])) for t in results.values() if t.get(name) and t.get("tsql")]
            if pairs:
                mean = math.exp(sum(math.log(theirs / ours) for theirs, ours in pairs) / len(pairs))
                print(f"{name} / tsql, geometric mean over {len(pairs)} questions: {mean:.2f}")


if __name__ == "__main__":
    main()
