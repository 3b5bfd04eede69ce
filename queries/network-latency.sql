-- Latency of networks by kind of target: weighted sum of the best runtimes of the measured tasks.
-- platform platform : platform, as in `records.platform`
-- needs network_tasks : networks (ingest the `network_info` files of TenSet)
-- needs records WHERE dataset = 'tenset' AND status = 'ok' AND graph_id IN (SELECT graph_id FROM network_tasks) AND environment_id IN (SELECT e.environment_id FROM environments AS e JOIN network_tasks AS n ON n.target_kind = e.target_kind) : records of tasks of these networks with the same kind of target
WITH best AS (
  SELECT r.graph_id, e.target_kind, min(r.runtime_ns) AS best_ns
  FROM records AS r
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE r.platform = $platform AND r.dataset = 'tenset' AND r.status = 'ok'
  GROUP BY r.graph_id, e.target_kind
),
-- If several files contain a network, the tasks of one of them.
member AS (
  SELECT *, max(source_id) OVER (PARTITION BY network, input_shapes, target_kind) AS last_source_id
  FROM network_tasks
  WHERE network IS NOT NULL
)
SELECT n.network, n.input_shapes, n.target_kind, count(*) AS task_count, count(b.best_ns) AS measured_task_count,
  sum(n.weight * b.best_ns) AS latency_ns,
  sum(n.weight * t.flop_count) FILTER (WHERE b.best_ns IS NOT NULL) / sum(n.weight * b.best_ns) FILTER (WHERE t.flop_count IS NOT NULL) AS gflops
FROM member AS n
JOIN tasks AS t ON t.graph_id = n.graph_id
LEFT JOIN best AS b ON b.graph_id = n.graph_id AND b.target_kind = n.target_kind
WHERE n.source_id = n.last_source_id
GROUP BY n.network, n.input_shapes, n.target_kind
HAVING count(b.best_ns) > 0
ORDER BY n.network, n.input_shapes, n.target_kind
