-- Training targets by platform: throughput of each record relative to the best of its task.
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=histogram x=throughput by=platform x_title="throughput relative to the best" y_title=records
SELECT r.platform, b.best_ns / r.runtime_ns AS throughput
FROM records AS r
JOIN (
  SELECT platform, graph_id, min(runtime_ns) AS best_ns
  FROM records
  WHERE status = 'ok'
  GROUP BY platform, graph_id
) AS b ON b.platform = r.platform AND b.graph_id = r.graph_id
WHERE r.status = 'ok'
