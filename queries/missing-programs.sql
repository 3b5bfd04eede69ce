-- Configurations measured on one platform and not on another, by task, with the best of them.
-- platform has : platform with the measurements
-- platform lacks : platform without them
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, count(*) AS program_count,
  count(*) FILTER (WHERE p.lacks_ns IS NULL) AS missing_count,
  min(p.has_ns) AS best_ns,
  min(p.has_ns) FILTER (WHERE p.lacks_ns IS NULL) AS best_missing_ns,
  min_by(p.config_id, p.has_ns) FILTER (WHERE p.lacks_ns IS NULL) AS best_missing_config_id
FROM (
  SELECT graph_id, config_id, min(runtime_ns) FILTER (WHERE platform = $has) AS has_ns,
    min(runtime_ns) FILTER (WHERE platform = $lacks) AS lacks_ns
  FROM records
  WHERE platform IN ($has, $lacks) AND status = 'ok'
  GROUP BY graph_id, config_id
) AS p
JOIN graphs AS g ON g.graph_id = p.graph_id
WHERE p.has_ns IS NOT NULL
GROUP BY g.workload_key
HAVING count(*) FILTER (WHERE p.lacks_ns IS NULL) > 0
ORDER BY missing_count DESC, g.workload_key
