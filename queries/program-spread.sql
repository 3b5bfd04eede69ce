-- Spread of configurations: slowdown relative to the best of the task, for the tasks with most of them.
-- platform platform : platform, as in `records.platform`
-- parameter limit = 12 : number of tasks
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=box x=task y=times_slower log=y y_title="runtime relative to the best"
WITH tasks_of AS (
  SELECT r.graph_id, count(DISTINCT r.config_id) AS program_count, min(r.runtime_ns) AS best_ns
  FROM records AS r
  WHERE r.platform = $platform AND r.status = 'ok'
  GROUP BY r.graph_id
  ORDER BY program_count DESC, r.graph_id
  LIMIT $limit
)
SELECT concat(coalesce(t.op, g.dataset), ' ', g.workload_key) AS task, g.workload_key, r.config_id,
  r.runtime_ns / o.best_ns AS times_slower
FROM tasks_of AS o
JOIN records AS r ON r.graph_id = o.graph_id
JOIN graphs AS g ON g.graph_id = o.graph_id
LEFT JOIN tasks AS t ON t.graph_id = o.graph_id
WHERE r.platform = $platform AND r.status = 'ok'
ORDER BY o.program_count DESC, o.graph_id, times_slower
