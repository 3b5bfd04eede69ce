-- Latency of networks: the best time of each task, as often as the network has it, summed up. Where tasks are not measured, the sum is of the others.
-- platform platform : platform as in records.platform
-- needs network_tasks : networks (ingest TenSet's network_info)
-- needs records WHERE dataset = 'tenset' AND status = 'ok' AND graph_id IN (SELECT graph_id FROM network_tasks) : records of tasks of these networks
WITH best AS (
  SELECT graph_id, min(runtime_ns) AS best_ns
  FROM records
  WHERE platform = $platform AND dataset = 'tenset' AND status = 'ok'
  GROUP BY graph_id
)
SELECT n.network, n.input_shapes, n.target_kind, count(*) AS task_count, count(b.best_ns) AS measured_task_count,
  sum(n.weight * b.best_ns) AS latency_ns,
  sum(n.weight * t.flop_count) FILTER (WHERE b.best_ns IS NOT NULL) / sum(n.weight * b.best_ns) FILTER (WHERE t.flop_count IS NOT NULL) AS gflops
FROM network_tasks AS n
JOIN tasks AS t ON t.graph_id = n.graph_id
LEFT JOIN best AS b ON b.graph_id = n.graph_id
WHERE n.network IS NOT NULL
GROUP BY n.network, n.input_shapes, n.target_kind
HAVING count(b.best_ns) > 0
ORDER BY n.network, n.input_shapes, n.target_kind
