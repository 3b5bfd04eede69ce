-- Lower bounds of task runtimes from operations and bytes, and the best measured runtimes.
-- platform platform : platform, as in `records.platform`
-- parameter peak = 0 : peak performance of the machine, GFLOPS; 0 for that of `platforms`, set with `tsql platform set`
-- parameter bandwidth = 0 : memory bandwidth of the machine, GB/s; 0 for that of `platforms`
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
WITH machine AS (
  SELECT coalesce(nullif(CAST($peak AS DOUBLE), 0), max(peak_flop_per_s) / 1e9) AS peak,
    coalesce(nullif(CAST($bandwidth AS DOUBLE), 0), max(bandwidth_bytes_per_s) / 1e9) AS bandwidth
  FROM platforms
  WHERE platform = $platform
),
best AS (
  SELECT g.workload_key, t.op, t.flop_count, t.moved_bytes, min(r.runtime_ns) AS best_ns
  FROM records AS r
  JOIN tasks AS t ON t.graph_id = r.graph_id
  JOIN graphs AS g ON g.graph_id = r.graph_id
  WHERE r.platform = $platform AND r.status = 'ok'
  GROUP BY g.workload_key, t.op, t.flop_count, t.moved_bytes
),
bounds AS (
  SELECT b.*, CASE WHEN m.peak > 0 AND m.bandwidth > 0 THEN greatest(b.flop_count / m.peak, b.moved_bytes / m.bandwidth) END AS bound_ns,
    CASE WHEN m.peak IS NULL OR m.bandwidth IS NULL THEN concat('no ',
      concat_ws(' and ', CASE WHEN m.peak IS NULL THEN 'peak_flop_per_s' END, CASE WHEN m.bandwidth IS NULL THEN 'bandwidth_bytes_per_s' END),
      ' of the platform: see `tsql platform set`') END AS reason
  FROM best AS b CROSS JOIN machine AS m
)
SELECT workload_key, op, flop_count, moved_bytes, flop_count / moved_bytes AS flop_per_byte, bound_ns, best_ns,
  bound_ns / best_ns AS fraction_of_bound, reason
FROM bounds
ORDER BY fraction_of_bound DESC NULLS LAST, workload_key
