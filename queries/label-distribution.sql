-- Labels by platform: the throughput of each record, which is the best time of its task over its own.
-- needs records WHERE status = 'ok' : records that were measured
-- plot: kind=histogram x=throughput by=platform
SELECT r.platform, b.best_ns / r.runtime_ns AS throughput
FROM records AS r
JOIN (
  SELECT platform, graph_id, min(runtime_ns) AS best_ns
  FROM records
  WHERE status = 'ok'
  GROUP BY platform, graph_id
) AS b ON b.platform = r.platform AND b.graph_id = r.graph_id
WHERE r.status = 'ok'
