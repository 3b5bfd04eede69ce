-- Lower bounds of task runtimes from operations and bytes, and the best measured runtimes.
-- platform platform : platform, as in `records.platform`
-- parameter peak = 1000 : peak performance of the machine, GFLOPS
-- parameter bandwidth = 100 : memory bandwidth of the machine, GB/s
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
SELECT g.workload_key, t.op, t.flop_count, t.moved_bytes, t.flop_count / t.moved_bytes AS flop_per_byte,
  greatest(t.flop_count / CAST($peak AS DOUBLE), t.moved_bytes / CAST($bandwidth AS DOUBLE)) AS bound_ns, min(r.runtime_ns) AS best_ns,
  greatest(t.flop_count / CAST($peak AS DOUBLE), t.moved_bytes / CAST($bandwidth AS DOUBLE)) / min(r.runtime_ns) AS fraction_of_bound
FROM records AS r
JOIN tasks AS t ON t.graph_id = r.graph_id
JOIN graphs AS g ON g.graph_id = r.graph_id
WHERE r.platform = $platform AND r.status = 'ok'
GROUP BY g.workload_key, t.op, t.flop_count, t.moved_bytes
ORDER BY fraction_of_bound DESC NULLS LAST, g.workload_key
