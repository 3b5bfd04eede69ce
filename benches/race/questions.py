"""The questions of the race: one SQL text, and other words for the engines that need them.

`{graph}`, `{config}`, `{graphs}`, `{from_}`, `{to}` are filled in from the data. Peers read the plain table: one
column for each of `records` that is not computed, `runtime_ns` (the mean) and the list `repeats_ns` of
all repeats; `noise`, `min_ns` and `workload_name` they compute themselves.
"""

OK = "error_no = 0"

QUESTIONS = {
    "count where platform": {
        "sql": "SELECT count(*) FROM records WHERE platform = 'k80'",
    },
    "group by platform: count, avg, errors": {
        "sql": """SELECT platform, count(*), avg(runtime_ns), sum(CASE WHEN error_no <> 0 THEN 1 ELSE 0 END)
            FROM records GROUP BY platform""",
    },
    "best per platform and graph, top 10": {
        "sql": """SELECT platform, graph_id, min(runtime_ns) AS best FROM records
            GROUP BY platform, graph_id ORDER BY best LIMIT 10""",
    },
    "one graph on one platform": {
        "sql": "SELECT config_id, runtime_ns FROM records WHERE platform = 't4' AND graph_id = {graph}",
    },
    "one program on one platform": {
        "sql": """SELECT runtime_ns, error_no FROM records
            WHERE platform = 't4' AND graph_id = {graph} AND config_id = {config}""",
    },
    "sum of one column": {
        "sql": "SELECT sum(runtime_ns) FROM records",
    },
    "join k80 with t4 on configuration, correlation": {
        "sql": f"""SELECT count(*), corr(a.runtime_ns, b.runtime_ns)
            FROM records a JOIN records b ON a.config_id = b.config_id
            WHERE a.platform = 'k80' AND b.platform = 't4' AND a.{OK} AND b.{OK}""",
    },
    "five best per graph on one platform": {
        "sql": f"""SELECT graph_id, config_id, runtime_ns FROM (
              SELECT graph_id, config_id, runtime_ns,
                row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns, config_id) AS place
              FROM records WHERE platform = 'k80' AND {OK}) AS p
            WHERE place <= 5""",
    },
    "fastest program of each graph (arg-min)": {
        "sql": f"""SELECT graph_id, first_value(config_id ORDER BY runtime_ns, config_id), min(runtime_ns)
            FROM records WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
        "duckdb": f"""SELECT graph_id, arg_min(config_id, (runtime_ns, config_id)), min(runtime_ns)
            FROM records WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
        "chdb": f"""SELECT graph_id, argMin(config_id, (runtime_ns, config_id)), min(runtime_ns)
            FROM records WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
    },
    "median by platform": {
        "sql": f"SELECT platform, median(runtime_ns) FROM records WHERE {OK} GROUP BY platform",
        "chdb": f"SELECT platform, quantileExactInclusive(0.5)(runtime_ns) FROM records WHERE {OK} GROUP BY platform",
    },
    "noise of the repeats by platform": {
        "tsql": f"SELECT platform, avg(noise), max(noise) FROM records WHERE {OK} GROUP BY platform",
        "duckdb": f"""SELECT platform, avg(n), max(n) FROM (
              SELECT platform, list_stddev_pop(repeats_ns) / list_avg(repeats_ns) AS n
              FROM records WHERE {OK}) GROUP BY platform""",
        "chdb": f"""SELECT platform, avg(n), max(n) FROM (
              SELECT platform, arrayReduce('stddevPop', r) / arrayAvg(r) AS n
              FROM (SELECT platform, arrayMap(x -> assumeNotNull(x), repeats_ns) AS r
                FROM records WHERE {OK})) GROUP BY platform""",
        "datafusion": None,
    },
    "fastest repeat over mean, by platform": {
        "tsql": f"SELECT platform, avg(min_ns / runtime_ns) FROM records WHERE {OK} GROUP BY platform",
        "duckdb": f"""SELECT platform, avg(list_min(repeats_ns) / runtime_ns)
            FROM records WHERE {OK} GROUP BY platform""",
        "chdb": f"""SELECT platform, avg(arrayMin(repeats_ns) / runtime_ns)
            FROM records WHERE {OK} GROUP BY platform""",
        "datafusion": f"""SELECT platform, avg(array_min(repeats_ns) / runtime_ns)
            FROM records WHERE {OK} GROUP BY platform""",
    },
    "distinct graphs by platform": {
        "sql": "SELECT platform, count(DISTINCT graph_id) FROM records GROUP BY platform",
    },
    "distinct programs": {
        "sql": "SELECT count(DISTINCT config_id) FROM records",
    },
    "programs measured twice on one platform": {
        "sql": """SELECT count(*) FROM (
              SELECT config_id FROM records WHERE platform = 'k80'
              GROUP BY config_id HAVING count(*) > 1) AS d""",
    },
    "rank correlation k80 and t4, each graph": {
        "sql": f"""SELECT graph_id, corr(x, y) FROM (
              SELECT a.graph_id, CAST(rank() OVER (PARTITION BY a.graph_id ORDER BY a.runtime_ns) AS DOUBLE) AS x,
                CAST(rank() OVER (PARTITION BY a.graph_id ORDER BY b.runtime_ns) AS DOUBLE) AS y
              FROM records a JOIN records b ON a.graph_id = b.graph_id AND a.config_id = b.config_id
              WHERE a.platform = 'k80' AND b.platform = 't4' AND a.{OK} AND b.{OK}
                AND a.graph_id IN ({{graphs}})) AS r
            GROUP BY graph_id""",
    },
    "labels, five networks held out": {
        "sql": f"""SELECT count(*), avg(label) FROM (
              SELECT min(runtime_ns) OVER (PARTITION BY graph_id) / runtime_ns AS label
              FROM records WHERE platform = 'e5-2673' AND {OK} AND graph_id NOT IN ({{graphs}})) AS l""",
    },
    "errors by kind": {
        "sql": "SELECT platform, error_no, count(*) FROM records WHERE error_no <> 0 GROUP BY platform, error_no",
    },
    "mean of each graph without failures": {
        "sql": f"""SELECT graph_id, avg(runtime_ns), max(runtime_ns) FROM records
            WHERE platform = 't4' AND {OK} GROUP BY graph_id""",
    },
    "two days of measuring": {
        "sql": """SELECT platform, count(*), avg(runtime_ns) FROM records
            WHERE measured_at >= TIMESTAMP '2021-10-01 00:00:00' AND measured_at < TIMESTAMP '2021-10-03 00:00:00'
            GROUP BY platform""",
        "tsql": """SELECT platform, count(*), avg(runtime_ns) FROM records
            WHERE measured_at >= '2021-10-01T00:00:00Z' AND measured_at < '2021-10-03T00:00:00Z'
            GROUP BY platform""",
        "chdb": """SELECT platform, count(*), avg(runtime_ns) FROM records
            WHERE measured_at >= toDateTime64('2021-10-01 00:00:00', 6, 'UTC')
              AND measured_at < toDateTime64('2021-10-03 00:00:00', 6, 'UTC')
            GROUP BY platform""",
    },
    "count by operator (join with graphs)": {
        "tsql": f"""SELECT workload_name, count(*), avg(runtime_ns) FROM records JOIN graphs USING (graph_id)
            WHERE {OK} GROUP BY workload_name""",
        "sql": f"""SELECT substr(workload_key, 3, 32) AS name, count(*), avg(runtime_ns)
            FROM records JOIN graphs ON records.graph_id = graphs.graph_id
            WHERE {OK} GROUP BY name""",
    },
    "export of one network's training set": {
        "sql": f"""SELECT graph_id, config_id, runtime_ns, repeats_ns FROM records
            WHERE platform = 'platinum-8272' AND {OK} AND graph_id IN ({{graphs}})""",
        "export": True,
    },
    "repeats, how often": {
        "sql": "SELECT repeat_count, count(*) FROM records GROUP BY repeat_count",
    },
    "hundred slowest": {
        "sql": f"SELECT platform, config_id, runtime_ns FROM records WHERE {OK} ORDER BY runtime_ns DESC LIMIT 100",
    },
    "spread of each graph on one platform": {
        "sql": f"""SELECT graph_id, stddev(ln(runtime_ns)) FROM records
            WHERE platform = 'graviton2' AND {OK} GROUP BY graph_id""",
        "chdb": f"""SELECT graph_id, stddevSamp(log(runtime_ns)) FROM records
            WHERE platform = 'graviton2' AND {OK} GROUP BY graph_id""",
    },
    "95th percentile of each graph on one platform": {
        "digits": 5,  # DataFusion interpolates to a millionth of the gap between two neighbours
        "sql": f"""SELECT graph_id, quantile_cont(runtime_ns, 0.95) FROM records
            WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
        "tsql": f"""SELECT graph_id, percentile_cont(0.95) WITHIN GROUP (ORDER BY runtime_ns) FROM records
            WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
        "datafusion": f"""SELECT graph_id, percentile_cont(0.95) WITHIN GROUP (ORDER BY runtime_ns) FROM records
            WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
        "chdb": f"""SELECT graph_id, quantileExactInclusive(0.95)(runtime_ns) FROM records
            WHERE platform = 'epyc-7452' AND {OK} GROUP BY graph_id""",
    },
}


def words(question, engine):
    """The SQL of a question for an engine; None where it has no words for it."""
    texts = QUESTIONS[question]
    return texts[engine] if engine in texts else texts.get("sql")
