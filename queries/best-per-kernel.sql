-- Fastest configuration of each graph on each platform, in all datasets.
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, b.platform, b.runtime_ns, b.timed_count, c.steps,
  s.name AS source, b.line
FROM (
  SELECT graph_id, platform, config_id, runtime_ns, source_id, line,
    count(*) OVER (PARTITION BY graph_id, platform) AS timed_count,
    row_number() OVER (PARTITION BY graph_id, platform ORDER BY runtime_ns, source_id, line) AS rank
  FROM records
  WHERE status = 'ok'
) AS b
JOIN graphs AS g ON g.graph_id = b.graph_id
JOIN configurations AS c ON c.graph_id = b.graph_id AND c.config_id = b.config_id
JOIN sources AS s ON s.source_id = b.source_id
WHERE b.rank = 1
ORDER BY g.dataset, kernel, problem, b.platform
