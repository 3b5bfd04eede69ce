-- Configurations measured several times on a platform, with the ratio of slowest to fastest runtime.
SELECT r.platform, g.workload_key, r.config_id, r.measurements, r.failed, r.fastest_ns, r.slowest_ns,
  r.slowest_ns / r.fastest_ns AS slowest_over_fastest, r.first_at, r.last_at
FROM (
  SELECT platform, graph_id, config_id, count(*) AS measurements,
    count(*) FILTER (WHERE status = 'failed') AS failed,
    min(runtime_ns) AS fastest_ns, max(runtime_ns) AS slowest_ns,
    min(measured_at) AS first_at, max(measured_at) AS last_at
  FROM records
  WHERE status <> 'unmeasured'
  GROUP BY platform, graph_id, config_id
  HAVING count(*) > 1
) AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
ORDER BY slowest_over_fastest DESC NULLS LAST, r.platform, g.workload_key, r.config_id
