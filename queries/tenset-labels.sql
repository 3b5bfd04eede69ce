-- TenSet training targets of one platform: as in TenSet's scripts, with 1e10 s for a failed record.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE dataset = 'tenset' : records of TenSet
-- plot: kind=histogram x=throughput x_title="throughput relative to the best" y_title=records
SELECT 'tenset' AS label_name, table_version('records') AS label_version,
  t.workload_key, t.config_id, s.name AS source, t.line, t.cost_s,
  min(t.cost_s) OVER task AS min_latency_s,
  min(t.cost_s) OVER task / t.cost_s AS throughput,
  t.error_no, sum(t.failed) OVER task AS failed_in_task
FROM (
  SELECT g.workload_key, e.target, r.config_id, r.source_id, r.line, r.error_no,
    CAST(CASE WHEN r.status = 'ok' THEN r.runtime_ns / 1e9 ELSE 1e10 END AS REAL) AS cost_s,
    CASE WHEN r.status = 'ok' THEN 0 ELSE 1 END AS failed
  FROM records AS r
  JOIN graphs AS g ON g.graph_id = r.graph_id
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE r.platform = $platform AND r.status <> 'unmeasured'
) AS t
JOIN sources AS s ON s.source_id = t.source_id
WINDOW task AS (PARTITION BY t.workload_key, t.target)
ORDER BY source, t.line
