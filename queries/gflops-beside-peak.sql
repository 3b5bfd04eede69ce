-- Best GFLOPS of each operator class, and the peak of the machine.
-- platform platform : platform, as in `records.platform`
-- parameter peak = 0 : peak GFLOPS of the machine, drawn as a line; 0 for that of `platforms`, set with `tsql platform set`
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
-- plot: kind=bar x=op y=gflops limit=peak_gflops
WITH speeds AS (
  SELECT t.op, max(t.flop_count / r.runtime_ns) AS gflops
  FROM records AS r
  JOIN tasks AS t ON t.graph_id = r.graph_id
  WHERE r.platform = $platform AND r.status = 'ok' AND t.flop_count > 0
  GROUP BY t.op
),
machine AS (
  SELECT coalesce(nullif(CAST($peak AS DOUBLE), 0), max(peak_flop_per_s) / 1e9) AS peak_gflops FROM platforms WHERE platform = $platform
)
SELECT op, gflops, peak_gflops, 100 * gflops / peak_gflops AS percent_of_peak
FROM speeds CROSS JOIN machine
ORDER BY gflops DESC, op
