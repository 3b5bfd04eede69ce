-- Best GFLOPS of each operator class, and the peak of the machine.
-- platform platform : platform, as in `records.platform`
-- parameter peak = 0 : peak GFLOPS of the machine, drawn as a line; 0 if unknown
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
-- plot: kind=bar x=op y=gflops limit=peak_gflops
SELECT t.op, max(t.flop_count / r.runtime_ns) AS gflops, nullif(CAST($peak AS DOUBLE), 0) AS peak_gflops,
  100 * max(t.flop_count / r.runtime_ns) / nullif(CAST($peak AS DOUBLE), 0) AS percent_of_peak
FROM records AS r
JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.platform = $platform AND r.status = 'ok' AND t.flop_count > 0
GROUP BY t.op
ORDER BY gflops DESC, t.op
