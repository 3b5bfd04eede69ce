-- TenSet training targets of one platform, without failed records.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE dataset = 'tenset' : records of TenSet
SELECT 'valid' AS label_name, table_version('records') AS label_version,
  t.workload_key, t.config_id, s.name AS source, t.line, t.cost_s,
  min(t.cost_s) OVER task AS min_latency_s,
  min(t.cost_s) OVER task / t.cost_s AS throughput,
  t.failed_in_task
FROM (
  SELECT g.workload_key, e.target, r.config_id, r.source_id, r.line, r.status,
    CAST(r.runtime_ns / 1e9 AS REAL) AS cost_s,
    sum(CASE WHEN r.status = 'failed' THEN 1 ELSE 0 END)
      OVER (PARTITION BY g.workload_key, e.target) AS failed_in_task
  FROM records AS r
  JOIN graphs AS g ON g.graph_id = r.graph_id
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE r.platform = $platform
) AS t
JOIN sources AS s ON s.source_id = t.source_id
WHERE t.status = 'ok'
WINDOW task AS (PARTITION BY t.workload_key, t.target)
ORDER BY source, t.line
