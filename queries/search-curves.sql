-- Search curves: best runtime so far by trial and source, for the tasks with most sources.
-- platform platform : platform, as in `records.platform`
-- parameter limit = 4 : number of tasks
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=step x=trial y=best_so_far_ns by=source facet=task y_title="best runtime so far"
WITH searched AS (
  SELECT graph_id, count(DISTINCT source_id) AS source_count, count(*) AS trial_count
  FROM records
  WHERE platform = $platform AND status IN ('ok', 'failed')
  GROUP BY graph_id
  ORDER BY source_count DESC, trial_count DESC, graph_id
  LIMIT $limit
)
SELECT concat(coalesce(t.op, g.dataset), ' ', g.workload_key) AS task, g.workload_key, f.name AS source,
  row_number() OVER search AS trial, min(r.runtime_ns) OVER search AS best_so_far_ns
FROM records AS r
JOIN searched AS s ON s.graph_id = r.graph_id
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN sources AS f ON f.source_id = r.source_id
LEFT JOIN tasks AS t ON t.graph_id = r.graph_id
WHERE r.platform = $platform AND r.status IN ('ok', 'failed')
WINDOW search AS (PARTITION BY r.source_id, r.graph_id ORDER BY r.line ROWS UNBOUNDED PRECEDING)
ORDER BY task, g.workload_key, source, trial
