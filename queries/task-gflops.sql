-- Tasks by GFLOPS of their best configuration, with operator class and number of records.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks) : records of tasks with known operations (ingest the `network_info` files of TenSet)
-- plot: kind=scatter x=best_ns y=gflops by=op log=xy
SELECT g.workload_key, t.op, count(*) AS record_count, min(r.runtime_ns) AS best_ns, t.flop_count,
  t.flop_count / min(r.runtime_ns) AS gflops
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.platform = $platform AND r.status = 'ok'
GROUP BY g.workload_key, t.op, t.flop_count
ORDER BY gflops DESC NULLS LAST, g.workload_key
