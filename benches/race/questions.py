"""The questions of the race: one SQL text, and other words for the engines that need them.

`{graph}`, `{config}`, `{graphs}`, `{from_}`, `{to}` are filled in from the data. Peers read the plain table: one
column for each of `records` that is not computed, `runtime_ns` (the mean) and the list `repeats_ns` of
all repeats; `noise`, `min_ns` and `workload_name` they compute themselves.
"""

OK = "error_no = 0"

RACE = {
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

# Written later, in three groups. Rules of the engine were written with them in sight: a development set, as the first ones are.
FURTHER = {
    "bests of four platforms by operator (5-way join)": {
        "sql": """WITH best AS (SELECT platform, graph_id, min(runtime_ns) AS ns FROM records WHERE {ok} GROUP BY platform, graph_id)
            SELECT substr(g.workload_key, 3, 32) AS name, count(*), avg(a.ns / b.ns), avg(a.ns / c.ns), avg(a.ns / d.ns)
            FROM graphs g JOIN best a ON a.graph_id = g.graph_id JOIN best b ON b.graph_id = g.graph_id
              JOIN best c ON c.graph_id = g.graph_id JOIN best d ON d.graph_id = g.graph_id
            WHERE a.platform = 'e5-2673' AND b.platform = 'epyc-7452' AND c.platform = 'graviton2'
              AND d.platform = 'platinum-8272' GROUP BY name""",
    },
    "best so far by line (window)": {
        "sql": """SELECT graph_id, count(*) FROM (
              SELECT graph_id, runtime_ns, min(runtime_ns) OVER (PARTITION BY source_id, graph_id ORDER BY line) AS best
              FROM records WHERE platform = 't4' AND {ok}) AS w
            WHERE runtime_ns = best GROUP BY graph_id""",
    },
    "programs within 10 % of their graph's best (correlated)": {
        "sql": """SELECT platform, count(*) FROM records r
            WHERE {ok} AND runtime_ns <= 1.1 * (
              SELECT min(runtime_ns) FROM records b
              WHERE b.platform = r.platform AND b.graph_id = r.graph_id AND b.error_no = 0)
            GROUP BY platform""",
    },
    "repeats unnested, mean by platform": {
        "sql": """SELECT platform, count(*), avg(t), max(t) FROM (
              SELECT platform, unnest(repeats_ns) AS t FROM records WHERE {ok}) AS u
            GROUP BY platform""",
    },
    "records by digits of the workload (regular expression)": {
        "sql": """SELECT regexp_replace(workload_key, '[0-9]+', 'N', 'g') AS shape, count(*), avg(runtime_ns)
            FROM records JOIN graphs ON records.graph_id = graphs.graph_id
            WHERE platform = 'k80' AND {ok} GROUP BY shape""",
    },
    "newest record of each graph (DISTINCT ON)": {
        "sql": """SELECT DISTINCT ON (graph_id) graph_id, config_id, runtime_ns FROM records
            WHERE platform = 'epyc-7452' ORDER BY graph_id, measured_at DESC, config_id, line""",
    },
    "errors by platform and kind (ROLLUP)": {
        "sql": """SELECT platform, error_no, count(*), avg(all_cost_s) FROM records
            GROUP BY ROLLUP (platform, error_no)""",
    },
    "pairs within 5 % (self-join)": {
        "sql": """SELECT count(*), avg(b.runtime_ns / a.runtime_ns) FROM records a JOIN records b ON a.graph_id = b.graph_id
            WHERE a.platform = 'k80' AND b.platform = 'k80' AND a.error_no = 0 AND b.error_no = 0
              AND a.graph_id IN ({graphs}) AND b.runtime_ns > a.runtime_ns AND b.runtime_ns <= a.runtime_ns * 1.05""",
    },
    "platforms of each graph (text put together)": {
        "sql": """SELECT graph_id, string_agg(platform, ',' ORDER BY platform) FROM (
              SELECT DISTINCT graph_id, platform FROM records) AS d
            GROUP BY graph_id""",
    },
    "share of the best graph (common table twice)": {
        "sql": """WITH spent AS (SELECT platform, graph_id, sum(all_cost_s) AS s FROM records GROUP BY platform, graph_id)
            SELECT a.platform, max(a.s) / max(b.total) FROM spent a
              JOIN (SELECT platform, sum(s) AS total FROM spent GROUP BY platform) AS b ON a.platform = b.platform
            GROUP BY a.platform""",
    },
    "histogram of logarithms": {
        "sql": """SELECT platform, CAST(floor(log10(runtime_ns) * 4) AS BIGINT) AS bin, count(*) FROM records
            WHERE {ok} GROUP BY platform, bin""",
    },
    "best by hour": {
        "sql": """SELECT CAST(extract(epoch FROM date_trunc('hour', measured_at)) AS BIGINT) AS hour, count(*), min(runtime_ns) FROM records
            WHERE platform = 'platinum-8272' AND {ok} GROUP BY hour""",
    },
    "second fastest of each program (row_number)": {
        "sql": """SELECT count(*), avg(runtime_ns) FROM (
              SELECT runtime_ns, row_number() OVER (PARTITION BY config_id ORDER BY runtime_ns, platform, line) AS place
              FROM records WHERE {ok} AND platform IN ('k80', 't4')) AS p
            WHERE place = 2""",
    },
    "deviation of the cost by graph": {
        "sql": "SELECT graph_id, stddev(all_cost_s), count(*) FROM records WHERE platform = 'graviton2' GROUP BY graph_id",
    },
    "three graphs of a list": {
        "sql": """SELECT platform, graph_id, count(*), min(runtime_ns) FROM records
            WHERE graph_id IN (SELECT graph_id FROM graphs ORDER BY graph_id LIMIT 3) GROUP BY platform, graph_id""",
    },
    # Written later, asked once.
    "top 3 platforms of each graph": {
        "sql": """SELECT graph_id, platform, best FROM (SELECT graph_id, platform, min(runtime_ns) AS best, row_number() OVER
            (PARTITION BY graph_id ORDER BY min(runtime_ns)) AS place FROM records WHERE {ok} GROUP BY graph_id, platform)
            AS b WHERE place <= 3""",
    },
    "slower than 10x best, share by platform": {
        "sql": """WITH b AS (SELECT platform, graph_id, min(runtime_ns) AS best FROM records WHERE {ok} GROUP BY platform,
            graph_id) SELECT r.platform, avg(CASE WHEN r.runtime_ns > 10 * b.best THEN 1.0 ELSE 0.0 END) FROM records r
            JOIN b ON r.platform = b.platform AND r.graph_id = b.graph_id WHERE r.{ok} GROUP BY r.platform""",
    },
    "deciles of each graph (ntile)": {
        "sql": """SELECT bucket, count(*), avg(runtime_ns) FROM (SELECT runtime_ns, ntile(10) OVER (PARTITION BY graph_id ORDER
            BY runtime_ns, config_id) AS bucket FROM records WHERE platform = 'k80' AND {ok}) AS n GROUP BY bucket""",
    },
    "improvement line by line (lag)": {
        "sql": """SELECT count(*), avg(r) FROM (SELECT runtime_ns / lag(runtime_ns) OVER (PARTITION BY graph_id ORDER BY line)
            AS r FROM records WHERE platform = 't4' AND {ok}) AS l WHERE r < 1""",
    },
    "programs on t4 and not on k80 (NOT EXISTS)": {
        "sql": """SELECT count(*) FROM records a WHERE platform = 't4' AND NOT EXISTS (SELECT 1 FROM records b WHERE b.platform
            = 'k80' AND b.graph_id = a.graph_id AND b.config_id = a.config_id AND b.error_no = 0)""",
    },
    "INTERSECT of programs": {
        "sql": """SELECT count(*) FROM (SELECT config_id FROM records WHERE platform = 't4' AND error_no = 0 INTERSECT SELECT
            config_id FROM records WHERE platform = 'k80' AND error_no <> 0) AS i""",
    },
    "decades by operator (CASE, join)": {
        "sql": """SELECT substr(workload_key, 3, 32) AS op, CASE WHEN runtime_ns < 1e5 THEN 'fast' WHEN runtime_ns < 1e6 THEN
            'middle' ELSE 'slow' END AS class, count(*) FROM records JOIN graphs ON records.graph_id = graphs.graph_id
            WHERE {ok} GROUP BY op, class""",
    },
    "page 50 of the slowest": {
        "sql": """SELECT platform, graph_id, config_id, runtime_ns FROM records WHERE {ok} ORDER BY runtime_ns DESC, config_id,
            platform, line LIMIT 20 OFFSET 1000""",
    },
    "records of conv-like keys (LIKE)": {
        "sql": """SELECT count(*), max(runtime_ns) FROM records JOIN graphs ON records.graph_id = graphs.graph_id WHERE
            workload_key LIKE '%64, 64%' AND platform = 'epyc-7452'""",
    },
    "moving average of 100": {
        "sql": """SELECT max(m) FROM (SELECT avg(runtime_ns) OVER (PARTITION BY graph_id ORDER BY line ROWS BETWEEN 99 PRECEDING
            AND CURRENT ROW) AS m FROM records WHERE platform = 'e5-2673' AND {ok}) AS w""",
    },
    "pivot of bests (FILTER)": {
        "sql": """SELECT graph_id, min(runtime_ns) FILTER (WHERE platform = 'k80') AS k80, min(runtime_ns) FILTER (WHERE
            platform = 't4') AS t4, count(*) FILTER (WHERE error_no <> 0) AS failed FROM records WHERE platform IN ('k80',
            't4') GROUP BY graph_id""",
    },
    "geometric mean by platform": {
        "sql": """SELECT platform, exp(avg(ln(runtime_ns))) FROM records WHERE {ok} GROUP BY platform""",
    },
    "first repeat over mean": {
        "sql": """SELECT platform, avg(repeats_ns[1] / runtime_ns), count(*) FROM records WHERE {ok} GROUP BY platform""",
    },
    "full outer join of bests": {
        "sql": """SELECT count(*), sum(CASE WHEN a.graph_id IS NULL THEN 1 ELSE 0 END), sum(CASE WHEN b.graph_id IS NULL THEN 1
            ELSE 0 END) FROM (SELECT graph_id, min(runtime_ns) AS x FROM records WHERE platform = 'k80' GROUP BY graph_id)
            a FULL OUTER JOIN (SELECT graph_id, min(runtime_ns) AS x FROM records WHERE platform = 'epyc-7452' GROUP BY
            graph_id) b ON a.graph_id = b.graph_id""",
    },
    "above the mean (scalar subquery)": {
        "sql": """SELECT count(*) FROM records WHERE runtime_ns > (SELECT avg(runtime_ns) FROM records WHERE {ok}) AND {ok}""",
    },
    "day of week by platform": {
        "sql": """SELECT platform, CAST(extract(dow FROM measured_at) AS BIGINT) AS d, count(*), avg(all_cost_s) FROM records
            GROUP BY platform, d""",
    },
    "distinct programs by platform": {
        "sql": """SELECT platform, count(DISTINCT config_id) FROM records WHERE {ok} GROUP BY platform""",
    },
    "rows per graph and error (GROUPING SETS)": {
        "sql": """SELECT graph_id, error_no, count(*) FROM records WHERE platform = 'graviton2' GROUP BY GROUPING SETS
            ((graph_id, error_no), (error_no), ())""",
    },
    "best program on all six platforms (HAVING)": {
        "sql": """SELECT count(*), max(m) FROM (SELECT config_id, count(DISTINCT platform) AS n, max(runtime_ns) AS m FROM
            records WHERE {ok} GROUP BY config_id HAVING count(DISTINCT platform) >= 2) AS h""",
    },
    "union of two platforms": {
        "sql": """SELECT p, count(*), min(runtime_ns) FROM (SELECT 'a' AS p, runtime_ns FROM records WHERE platform = 'k80' AND
            {ok} UNION ALL SELECT 'b', runtime_ns FROM records WHERE platform = 't4' AND {ok}) AS u GROUP BY p""",
    },
    "mean absolute deviation from the median": {
        "sql": """SELECT r.graph_id, avg(abs(r.runtime_ns - m.mid)) FROM records r JOIN (SELECT graph_id, median(runtime_ns) AS
            mid FROM records WHERE platform = 'k80' AND {ok} GROUP BY graph_id) m ON r.graph_id = m.graph_id WHERE
            r.platform = 'k80' AND r.{ok} GROUP BY r.graph_id""",
    },
    "longest run of lines (max line by source)": {
        "sql": """SELECT graph_id, max(line), min(line), count(*) FROM records GROUP BY graph_id""",
    },
    # Written later still, asked once.
    "faster on t4, by graph (join, condition on both)": {
        "sql": """SELECT a.graph_id, count(*), avg(b.runtime_ns / a.runtime_ns) FROM records a JOIN records b ON a.config_id = b.config_id
            WHERE a.platform = 't4' AND b.platform = 'k80' AND a.{ok} AND b.{ok} AND a.runtime_ns < b.runtime_ns
            GROUP BY a.graph_id""",
    },
    "hours spent so far (running sum)": {
        "sql": """SELECT count(*), max(s), avg(s) FROM (SELECT sum(all_cost_s) OVER (PARTITION BY source_id ORDER BY line) AS s
            FROM records WHERE platform = 'platinum-8272') AS w""",
    },
    "records a day by platform": {
        "sql": """SELECT platform, CAST(extract(epoch FROM date_trunc('day', measured_at)) AS BIGINT) AS day, count(*), avg(runtime_ns)
            FROM records WHERE {ok} GROUP BY platform, day""",
    },
    "programs that failed on k80 only (EXCEPT)": {
        "sql": """SELECT count(*) FROM (SELECT config_id FROM records WHERE platform = 'k80' AND error_no <> 0 EXCEPT
            SELECT config_id FROM records WHERE platform = 't4' AND error_no <> 0) AS e""",
    },
    "slope of t4 over k80 by graph (regression)": {
        "sql": """SELECT a.graph_id, regr_slope(a.runtime_ns, b.runtime_ns), regr_r2(a.runtime_ns, b.runtime_ns) FROM records a
            JOIN records b ON a.graph_id = b.graph_id AND a.config_id = b.config_id
            WHERE a.platform = 't4' AND b.platform = 'k80' AND a.{ok} AND b.{ok} AND a.graph_id IN ({graphs})
            GROUP BY a.graph_id""",
    },
    "five fastest times of each graph (array)": {
        "sql": """SELECT graph_id, array_to_string((array_agg(CAST(floor(runtime_ns) AS BIGINT) ORDER BY runtime_ns))[1:5], ' ') FROM records
            WHERE platform = 'k80' AND {ok} GROUP BY graph_id""",
    },
    "records of graphs that are quick (IN, aggregate)": {
        "sql": """SELECT platform, count(*), avg(runtime_ns) FROM records WHERE {ok} AND graph_id IN (SELECT graph_id FROM records
            WHERE {ok} GROUP BY graph_id HAVING min(runtime_ns) < 20000) GROUP BY platform""",
    },
    "place of each program (percent_rank)": {
        "sql": """SELECT count(*), avg(p) FROM (SELECT percent_rank() OVER (PARTITION BY graph_id ORDER BY runtime_ns) AS p,
            runtime_ns FROM records WHERE platform = 't4' AND {ok}) AS w WHERE runtime_ns < 1e6""",
    },
    "between two times": {
        "sql": """SELECT platform, count(*) FROM records WHERE runtime_ns BETWEEN 1e5 AND 1.1e5 OR runtime_ns BETWEEN 1e6 AND 1.1e6
            GROUP BY platform""",
    },
    "sums by graph and platform (CASE)": {
        "sql": """SELECT graph_id, sum(CASE WHEN platform = 'k80' THEN all_cost_s ELSE 0 END), sum(CASE WHEN platform = 't4' THEN
            all_cost_s ELSE 0 END), sum(CASE WHEN error_no = 0 THEN 0 ELSE all_cost_s END) FROM records GROUP BY graph_id""",
    },
    "range of the repeats (list_max - list_min)": {
        "tsql": """SELECT platform, avg((array_max(repeats_ns) - array_min(repeats_ns)) / runtime_ns) FROM records WHERE {ok}
            GROUP BY platform""",
        "sql": """SELECT platform, avg((list_max(repeats_ns) - list_min(repeats_ns)) / runtime_ns) FROM records WHERE {ok}
            GROUP BY platform""",
    },
    "a tenth of the programs (modulo)": {
        "sql": """SELECT config_id % 10 AS m, count(*), avg(runtime_ns), max(line) FROM records WHERE {ok} GROUP BY m""",
    },
    "last and first of each graph (first_value window)": {
        "sql": """SELECT count(*), avg(l / f) FROM (SELECT DISTINCT graph_id, first_value(runtime_ns) OVER w AS f,
            last_value(runtime_ns) OVER w AS l FROM records WHERE platform = 'e5-2673' AND {ok} WINDOW w AS (PARTITION BY graph_id
            ORDER BY line, config_id, source_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)) AS d""",
    },
    "gaps of more than a minute (lag of time)": {
        "sql": """SELECT count(*) FROM (SELECT extract(epoch FROM measured_at) - lag(extract(epoch FROM measured_at)) OVER
            (ORDER BY measured_at) AS gap FROM records WHERE platform = 'graviton2') AS g WHERE gap > 60""",
    },
    "sources with most failures": {
        "sql": """SELECT source_id, count(*) AS n, sum(CASE WHEN error_no <> 0 THEN 1 ELSE 0 END) AS bad FROM records GROUP BY source_id
            ORDER BY bad DESC, source_id LIMIT 20""",
    },
    "best and second best by graph (nth of sorted)": {
        "sql": """SELECT count(*), avg(b / a) FROM (SELECT graph_id, min(runtime_ns) AS a, min(CASE WHEN place = 2 THEN runtime_ns END) AS b
            FROM (SELECT graph_id, runtime_ns, dense_rank() OVER (PARTITION BY graph_id ORDER BY runtime_ns) AS place
            FROM records WHERE platform = 'epyc-7452' AND {ok}) AS r WHERE place <= 2 GROUP BY graph_id) AS t""",
    },
    "words of the workload keys (split, unnest)": {
        "tsql": """SELECT w, count(*) FROM (SELECT unnest(string_to_array(workload_key, ',')) AS w FROM graphs) AS u GROUP BY w
            ORDER BY 2 DESC, w LIMIT 20""",
        "sql": """SELECT w, count(*) FROM (SELECT unnest(string_split(workload_key, ',')) AS w FROM graphs) AS u GROUP BY w
            ORDER BY 2 DESC, w LIMIT 20""",
    },
    "graphs of neither platform (two anti joins)": {
        "sql": """SELECT count(*) FROM graphs g WHERE NOT EXISTS (SELECT 1 FROM records r WHERE r.graph_id = g.graph_id AND r.platform = 'k80')
            OR NOT EXISTS (SELECT 1 FROM records r WHERE r.graph_id = g.graph_id AND r.platform = 'epyc-7452' AND r.{ok})""",
    },
    "sample of the configurations (hash of text)": {
        "sql": """SELECT count(*), sum(runtime_ns) FROM records WHERE {ok} AND CAST(config_id AS VARCHAR) LIKE '%7'""",
    },
    "ten quickest of all but the best (OFFSET)": {
        "sql": """SELECT platform, config_id, runtime_ns FROM records WHERE {ok} ORDER BY runtime_ns, platform, config_id, line LIMIT 10 OFFSET 100""",
    },
}
for texts in FURTHER.values():
    texts.update({engine: text.replace("{ok}", OK) for engine, text in texts.items()})
    for other in ("chdb", "polars"):
        texts.setdefault(other, None)

QUESTIONS = {**RACE, **FURTHER}


def words(question, engine):
    """The SQL of a question for an engine; None where it has no words for it."""
    texts = QUESTIONS[question]
    return texts[engine] if engine in texts else texts.get("sql")
