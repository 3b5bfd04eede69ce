-- The k fastest programs of every graph on one platform, each by its best measurement.
-- platform platform : platform as in records.platform
-- parameter k = 3 : how many programs of each graph
SELECT g.workload_key, p.place, p.runtime_ns, p.runtime_ns / p.best_ns AS times_slower_than_best,
  p.measurements, p.config_id, c.steps
FROM (
  SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns, count(*) AS measurements,
    min(min(runtime_ns)) OVER (PARTITION BY graph_id) AS best_ns,
    row_number() OVER (PARTITION BY graph_id ORDER BY min(runtime_ns), config_id) AS place
  FROM records
  WHERE platform = $platform AND status = 'ok'
  GROUP BY graph_id, config_id
) AS p
JOIN graphs AS g ON g.graph_id = p.graph_id
JOIN configurations AS c ON c.graph_id = p.graph_id AND c.config_id = p.config_id
WHERE p.place <= $k
ORDER BY g.workload_key, p.place
