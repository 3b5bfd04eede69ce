-- Roofline: GFLOPS of the best configuration of each task by FLOP per byte, and the limits of the machine.
-- platform platform : platform, as in `records.platform`
-- parameter peak = 0 : peak GFLOPS of the machine, from its data sheet or a measured `matmul`; 0 for that of `platforms`, else the maximum of the tasks
-- parameter bandwidth = 0 : memory bandwidth in GB/s, from the data sheet or a measured `row_sum`; 0 for that of `platforms`, else the maximum of the tasks
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM tasks WHERE flop_count > 0) : records of tasks with known operations (ingest the `network_info` files of TenSet)
-- plot: kind=scatter x=flop_per_byte y=gflops by=op limit=roof_gflops annotate=roof log=xy
WITH best AS (
  SELECT graph_id, min(runtime_ns) AS best_ns
  FROM records
  WHERE platform = $platform AND status = 'ok'
  GROUP BY graph_id
),
-- Part of each tensor, such as `"shape":[1,56,56,64],"dtype":"float32"`.
pieces AS (
  SELECT t.graph_id, t.op, t.flop_count, b.best_ns, unnest(string_to_array(replace(t.tensors, ' ', ''), '"shape":[')) AS piece,
    unnest(range(0, CAST(cardinality(string_to_array(replace(t.tensors, ' ', ''), '"shape":[')) AS BIGINT))) AS place
  FROM best AS b
  JOIN tasks AS t ON t.graph_id = b.graph_id
  WHERE t.flop_count > 0 AND replace(t.tensors, ' ', '') NOT LIKE '%"shape":null%'
),
sizes AS (
  SELECT graph_id, op, flop_count, best_ns, place, unnest(string_to_array(split_part(piece, ']', 1), ',')) AS size,
    coalesce(TRY_CAST(regexp_replace(split_part(split_part(piece, '"dtype":"', 2), '"', 1), '[^0-9]', '', 'g') AS DOUBLE) / 8, 1) AS width_bytes
  FROM pieces
  WHERE place > 0
),
tensors AS (
  SELECT graph_id, op, flop_count, best_ns, place, round(exp(sum(ln(CAST(size AS DOUBLE))))) * max(width_bytes) AS tensor_bytes
  FROM sizes
  GROUP BY graph_id, op, flop_count, best_ns, place
),
tasks_of AS (
  SELECT graph_id, op, flop_count / sum(tensor_bytes) AS flop_per_byte, flop_count / best_ns AS gflops, sum(tensor_bytes) / best_ns AS gb_per_s
  FROM tensors
  GROUP BY graph_id, op, flop_count, best_ns
),
-- Limits of the parameters, else of `tsql platform set`.
stated AS (
  SELECT coalesce(nullif(CAST($peak AS DOUBLE), 0), max(peak_flop_per_s) / 1e9) AS peak,
    coalesce(nullif(CAST($bandwidth AS DOUBLE), 0), max(bandwidth_bytes_per_s) / 1e9) AS bandwidth
  FROM platforms
  WHERE platform = $platform
),
machine AS (
  SELECT coalesce(max(s.peak), max(t.gflops)) AS peak, coalesce(max(s.bandwidth), max(t.gb_per_s)) AS bandwidth,
    CASE WHEN max(s.peak) > 0 AND max(s.bandwidth) > 0 THEN '' ELSE ' (best reached)' END AS origin
  FROM tasks_of AS t CROSS JOIN stated AS s
),
-- Range of x: all tasks and the ridge point.
roof AS (
  SELECT max(m.peak) AS peak, max(m.bandwidth) AS bandwidth, max(m.peak / m.bandwidth) AS ridge,
    least(min(t.flop_per_byte), max(m.peak / m.bandwidth) / 2) AS least_x,
    greatest(max(t.flop_per_byte), max(m.peak / m.bandwidth) * 2) AS most_x,
    concat(round(max(m.peak), 1), ' GFLOPS, ', round(max(m.bandwidth), 1), ' GB/s', max(m.origin)) AS limits
  FROM tasks_of AS t CROSS JOIN machine AS m
  WHERE m.peak > 0 AND m.bandwidth > 0
)
SELECT t.op, t.flop_per_byte, t.gflops, t.gb_per_s, least(r.peak, r.bandwidth * t.flop_per_byte) AS roof_gflops,
  r.limits AS roof
FROM tasks_of AS t
LEFT JOIN roof AS r ON true
UNION ALL
-- Corners of the roof, which have no task.
SELECT NULL, x, NULL, NULL, least(peak, bandwidth * x), limits
FROM (SELECT peak, bandwidth, limits, unnest([least_x, ridge, most_x]) AS x FROM roof WHERE peak IS NOT NULL) AS corners
ORDER BY op NULLS LAST, flop_per_byte
