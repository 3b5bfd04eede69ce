-- Best GFLOPS of tasks by operator class: minimum, median and maximum.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
-- plot: kind=bar x=op y=median_gflops
SELECT op, count(*) AS task_count, sum(record_count) AS record_count, min(gflops) AS least_gflops,
  median(gflops) AS median_gflops, max(gflops) AS most_gflops
FROM (
  SELECT r.graph_id, t.op, count(*) AS record_count, t.flop_count / min(r.runtime_ns) AS gflops
  FROM records AS r
  JOIN tasks AS t ON t.graph_id = r.graph_id
  WHERE r.platform = $platform AND r.status = 'ok' AND t.flop_count > 0
  GROUP BY r.graph_id, t.op, t.flop_count
) AS best
GROUP BY op
ORDER BY median_gflops DESC, op
