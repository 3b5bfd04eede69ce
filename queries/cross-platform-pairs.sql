-- Runtimes of the same configurations on two platforms, and their ratio.
-- platform platform_a : first platform, as in `records.platform`
-- platform platform_b : second platform, as in `records.platform`
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, a.config_id, a.runtime_ns AS runtime_a_ns, b.runtime_ns AS runtime_b_ns,
  a.runtime_ns / b.runtime_ns AS speedup_of_b
FROM (
  SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns
  FROM records
  WHERE platform = $platform_a AND status = 'ok'
  GROUP BY graph_id, config_id
) AS a
JOIN (
  SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns
  FROM records
  WHERE platform = $platform_b AND status = 'ok'
  GROUP BY graph_id, config_id
) AS b ON b.graph_id = a.graph_id AND b.config_id = a.config_id
JOIN graphs AS g ON g.graph_id = a.graph_id
ORDER BY g.workload_key, speedup_of_b DESC, a.config_id
