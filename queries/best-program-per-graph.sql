-- Fastest configuration of each graph, program and build on one platform.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, f.program, f.build, f.runtime_ns, f.noise, f.config_id, c.steps, s.name AS source, f.line
FROM (
  SELECT r.*, k.program, k.build, row_number() OVER (
    PARTITION BY r.graph_id, k.program, k.build ORDER BY r.runtime_ns, r.source_id, r.line) AS rank
  FROM records AS r
  LEFT JOIN (
    SELECT config_id, program, build FROM configurations WHERE program IS NOT NULL OR build IS NOT NULL
  ) AS k ON k.config_id = r.config_id
  WHERE r.platform = $platform AND r.status = 'ok'
) AS f
JOIN graphs AS g ON g.graph_id = f.graph_id
JOIN configurations AS c ON c.graph_id = f.graph_id AND c.config_id = f.config_id
JOIN sources AS s ON s.source_id = f.source_id
WHERE f.rank = 1
ORDER BY g.workload_key, f.program, f.build
