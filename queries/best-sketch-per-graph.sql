-- Sketches of each graph, program and build on one platform, sorted by best runtime.
-- platform platform : platform, as in `records.platform`
SELECT g.workload_key, c.program, c.build, min(r.runtime_ns) AS best_ns, median(r.runtime_ns) AS median_ns,
  count(DISTINCT r.config_id) AS programs,
  count(*) FILTER (WHERE r.status = 'failed') AS failed, c.sketch
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id
WHERE r.platform = $platform AND r.status <> 'unmeasured'
GROUP BY g.workload_key, c.program, c.build, c.sketch
ORDER BY g.workload_key, c.program, c.build, best_ns NULLS LAST, c.sketch
