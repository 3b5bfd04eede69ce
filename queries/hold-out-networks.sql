-- Effect of holding out each network: shared tasks, and records that leave the training set.
-- platform platform : platform, as in `records.platform`
-- needs network_tasks : networks (ingest the `network_info` files of TenSet)
-- needs records WHERE status = 'ok' AND graph_id IN (SELECT graph_id FROM network_tasks) : records of tasks of these networks
WITH member AS (
  SELECT DISTINCT network, target_kind, graph_id
  FROM network_tasks
  WHERE network IS NOT NULL
),
of_task AS (
  SELECT target_kind, graph_id, count(*) AS network_count
  FROM member
  GROUP BY target_kind, graph_id
),
measured AS (
  SELECT r.graph_id, e.target_kind, count(*) AS record_count
  FROM records AS r
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE r.platform = $platform AND r.status = 'ok'
  GROUP BY r.graph_id, e.target_kind
)
SELECT m.network, m.target_kind, count(*) AS task_count,
  count(*) FILTER (WHERE o.network_count > 1) AS shared_task_count,
  count(r.record_count) AS measured_task_count,
  coalesce(sum(r.record_count), 0) AS record_count,
  coalesce(sum(r.record_count) FILTER (WHERE o.network_count > 1), 0) AS shared_record_count,
  100.0 * sum(r.record_count) / max(a.record_count) AS percent_of_records
FROM member AS m
JOIN of_task AS o ON o.graph_id = m.graph_id AND o.target_kind = m.target_kind
LEFT JOIN measured AS r ON r.graph_id = m.graph_id AND r.target_kind = m.target_kind
CROSS JOIN (SELECT sum(record_count) AS record_count FROM measured) AS a
GROUP BY m.network, m.target_kind
ORDER BY record_count DESC, m.network, m.target_kind
