-- Tasks with the widest spread: ratios of slowest to fastest runtime, and of median to 10th percentile.
-- platform platform : platform, as in `records.platform`
-- parameter min_programs = 10 : minimum number of configurations of a task
-- parameter limit = 20 : number of tasks
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=bar x=task y=worst_to_best log=y y_title="slowest runtime relative to the fastest"
SELECT g.workload_key, t.op, p.program_count, p.best_ns, p.median_ns, p.worst_ns,
  p.worst_ns / p.best_ns AS worst_to_best, p.median_ns / p.best_ns AS median_to_best, p.median_ns / p.tenth_ns AS median_to_tenth,
  concat(coalesce(t.op, g.dataset), ' ', g.workload_key) AS task
FROM (
  SELECT graph_id, count(*) AS program_count, min(runtime_ns) AS best_ns, median(runtime_ns) AS median_ns,
    max(runtime_ns) AS worst_ns, percentile_cont(0.1) WITHIN GROUP (ORDER BY runtime_ns) AS tenth_ns
  FROM (
    SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns
    FROM records
    WHERE platform = $platform AND status = 'ok'
    GROUP BY graph_id, config_id
  ) AS r
  GROUP BY graph_id
) AS p
JOIN graphs AS g ON g.graph_id = p.graph_id
LEFT JOIN tasks AS t ON t.graph_id = p.graph_id
WHERE p.program_count >= $min_programs
ORDER BY worst_to_best DESC, g.workload_key
LIMIT $limit
