-- Roofline of the kernels that `tsql measure` timed: best GFLOPS of each workload, by operations per byte.
-- Operations and bytes are those of the manifests of the templates. The roof is the best speed that any kernel
-- reached: the highest GFLOPS, and the highest bandwidth.
WITH sizes AS (
  -- Numbers of `{"K": 200, "M": 100, "N": 300}`, in the order of their names.
  SELECT graph_id, regexp_replace(workload_name, '(_nchw|_nhwc)?_f32$', '') AS operator,
    CAST(string_to_array(regexp_replace(split_part(workload_args, '}', 1), '[^0-9,]', '', 'g'), ',') AS DOUBLE[]) AS n
  FROM graphs
  WHERE dataset = 'measured'
),
products AS (
  SELECT graph_id, operator, CASE operator WHEN 'batched_matmul' THEN n[1] ELSE 1 END AS batch, n[-3] AS k, n[-2] AS m, n[-1] AS n
  FROM sizes
  WHERE operator LIKE '%matmul'
),
-- BATCH is 1 in these records.
convolutions AS (
  SELECT graph_id, operator, n[2] AS channels, CASE operator WHEN 'conv2d' THEN n[3] END AS filters,
    n[-5] * n[-1] AS pixels, n[-4] * n[-4] AS taps,
    (floor((n[-5] + 2 * n[-3] - n[-4]) / n[-2]) + 1) * (floor((n[-1] + 2 * n[-3] - n[-4]) / n[-2]) + 1) AS outputs
  FROM sizes
  WHERE operator LIKE '%conv2d%'
),
work AS (
  SELECT graph_id, operator, 2 * batch * m * n * k AS flop, 4 * batch * (m * k + k * n + m * n) AS bytes
  FROM products
  UNION ALL
  SELECT graph_id, operator, 2 * outputs * channels * taps * coalesce(filters, 1),
    4 * (channels * pixels + channels * taps * coalesce(filters, 1) + outputs * coalesce(filters, channels))
  FROM convolutions
  UNION ALL
  SELECT graph_id, operator, n[1] * n[2] * CASE operator WHEN 'softmax' THEN 5 WHEN 'layer_norm' THEN 8 WHEN 'row_sum' THEN 1 END,
    CASE operator WHEN 'layer_norm' THEN 8 * (n[1] * n[2] + n[1]) WHEN 'row_sum' THEN 4 * (n[1] * n[2] + n[2]) ELSE 8 * n[1] * n[2] END
  FROM sizes
  WHERE operator IN ('softmax', 'layer_norm', 'row_sum', 'transpose')
),
speeds AS (
  SELECT operator, flop / bytes AS flop_per_byte, flop / min(runtime_ns) AS gflops, bytes / min(runtime_ns) AS gb_per_s
  FROM work
  JOIN records USING (graph_id)
  WHERE status = 'ok'
  GROUP BY graph_id, operator, flop, bytes
),
machine AS (SELECT max(gflops) AS peak, max(gb_per_s) AS bandwidth FROM speeds)
SELECT operator, flop_per_byte AS "FLOP per byte", gflops, least(peak, bandwidth * flop_per_byte) AS roof_gflops,
  concat(round(peak, 1), ' GFLOPS, ', round(bandwidth, 1), ' GB/s') AS best_reached
FROM speeds, machine
WHERE gflops IS NOT NULL
UNION ALL
-- The corner of the roof.
SELECT NULL, peak / bandwidth, NULL, peak, NULL
FROM machine
ORDER BY operator, "FLOP per byte", gflops
