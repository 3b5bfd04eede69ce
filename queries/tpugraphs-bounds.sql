-- Lower bounds of runtimes of TpuGraphs graphs, and the best measured ones. Loop bodies count once.
-- parameter peak = 0 : peak performance of the machine, GFLOPS; 0 for that of `platforms`, else 123000, that of a TPU v3
-- parameter bandwidth = 0 : memory bandwidth of the machine, GB/s; 0 for that of `platforms`, else 900, that of a TPU v3
-- needs records WHERE dataset = 'tpugraphs' AND status = 'ok' : records of TpuGraphs with runtimes
WITH machine AS (
  SELECT coalesce(nullif(CAST($peak AS DOUBLE), 0), max(peak_flop_per_s) / 1e9, 123000) AS peak,
    coalesce(nullif(CAST($bandwidth AS DOUBLE), 0), max(bandwidth_bytes_per_s) / 1e9, 900) AS bandwidth
  FROM platforms
  WHERE platform IN (SELECT DISTINCT platform FROM records WHERE dataset = 'tpugraphs')
), known AS (
  SELECT graph_id, node, op, opcode, features, node_feature(features, 'is_root') = 1 AS is_root FROM nodes WHERE opcode IS NOT NULL
), computed AS (
  SELECT k.graph_id, sum(hlo_flop_count(k.opcode, k.features, o.features)) AS flop_count
  FROM known AS k
  JOIN (
    SELECT e.graph_id, e.user, array_agg(o.features) AS features
    FROM edges AS e
    JOIN known AS u ON u.graph_id = e.graph_id AND u.node = e.user AND u.op IN ('dot', 'convolution')
    JOIN known AS o ON o.graph_id = e.graph_id AND o.node = e.operand
    GROUP BY e.graph_id, e.user
  ) AS o ON o.graph_id = k.graph_id AND o.user = k.node
  GROUP BY k.graph_id
), whole AS ( -- The last computation is the program, and its root the last node. Called computations precede it.
  SELECT r.graph_id, l.last, coalesce(max(r.node) FILTER (WHERE r.node < l.last), -1) AS before
  FROM known AS r
  JOIN (SELECT graph_id, max(node) AS last FROM known WHERE is_root GROUP BY graph_id) AS l ON l.graph_id = r.graph_id
  WHERE r.is_root
  GROUP BY r.graph_id, l.last
), moved AS (
  SELECT k.graph_id, sum(hlo_byte_count(k.features)) AS moved_bytes
  FROM known AS k
  JOIN whole AS w ON w.graph_id = k.graph_id AND k.node > w.before
  JOIN known AS r ON r.graph_id = k.graph_id AND r.node = w.last
  LEFT JOIN (SELECT DISTINCT graph_id, user, operand FROM edges) AS e
    ON e.graph_id = k.graph_id AND e.user = w.last AND e.operand = k.node
  WHERE k.op = 'parameter' OR k.node = w.last OR (r.op = 'tuple' AND e.operand IS NOT NULL)
  GROUP BY k.graph_id
), best AS (
  SELECT graph_id, min(runtime_ns) AS best_ns FROM records WHERE dataset = 'tpugraphs' AND status = 'ok' GROUP BY graph_id
), names AS (
  SELECT r.graph_id, min(f.id) AS graph
  FROM (SELECT DISTINCT graph_id, source_id FROM records WHERE dataset = 'tpugraphs') AS r
  JOIN sources AS f ON f.source_id = r.source_id
  GROUP BY r.graph_id
), bounds AS (
  SELECT n.graph, coalesce(c.flop_count, 0) AS flop_count, m.moved_bytes,
    greatest(coalesce(c.flop_count, 0) / a.peak, m.moved_bytes / a.bandwidth) AS bound_ns, b.best_ns
  FROM moved AS m
  JOIN best AS b ON b.graph_id = m.graph_id
  JOIN names AS n ON n.graph_id = m.graph_id
  CROSS JOIN machine AS a
  LEFT JOIN computed AS c ON c.graph_id = m.graph_id
)
SELECT *, bound_ns / best_ns AS fraction_of_bound FROM bounds ORDER BY fraction_of_bound DESC NULLS LAST, graph
