-- Tasks by the speed of their best program: what each computes, how often it was measured, and its GFLOPS.
-- platform platform : platform as in records.platform
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks) : records of tasks whose operations are known (ingest TenSet's network_info beside them)
-- plot: kind=scatter x=best_ns y=gflops by=op log=xy
SELECT g.workload_key, t.op, count(*) AS record_count, min(r.runtime_ns) AS best_ns, t.flop_count,
  t.flop_count / min(r.runtime_ns) AS gflops
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.platform = $platform AND r.status = 'ok'
GROUP BY g.workload_key, t.op, t.flop_count
ORDER BY gflops DESC NULLS LAST, g.workload_key
