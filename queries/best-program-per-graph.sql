-- The fastest program of every graph on one platform.
-- platform platform : platform as in records.platform
SELECT g.workload_key, f.runtime_ns, f.noise, f.config_id, c.steps, s.name AS source, f.line
FROM (
  SELECT *, row_number() OVER (
    PARTITION BY graph_id ORDER BY runtime_ns, source_id, line) AS place
  FROM records
  WHERE platform = $platform AND status = 'ok'
) AS f
JOIN graphs AS g ON g.graph_id = f.graph_id
JOIN configurations AS c ON c.graph_id = f.graph_id AND c.config_id = f.config_id
JOIN files AS s ON s.source_id = f.source_id
WHERE f.place = 1
ORDER BY g.workload_key
