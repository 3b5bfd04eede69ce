-- Configurations of each graph and platform that no other beats in time and in energy.
-- needs metrics WHERE name = 'energy' : records with the metric `energy`
-- plot: kind=scatter x=runtime_ns y=energy_j by=platform
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, t.platform, t.runtime_ns, t.energy_j, c.steps
FROM (
  SELECT graph_id, platform, config_id, runtime_ns, energy_j, min(energy_j) OVER (
      PARTITION BY graph_id, platform ORDER BY runtime_ns, energy_j, config_id
      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_energy_before
  FROM (
    SELECT r.graph_id, r.platform, r.config_id, r.runtime_ns, metric(r.metrics, 'energy') AS energy_j
    FROM records AS r
    WHERE r.status = 'ok'
  ) AS measured
  WHERE energy_j IS NOT NULL
) AS t
JOIN graphs AS g ON g.graph_id = t.graph_id
JOIN configurations AS c ON c.graph_id = t.graph_id AND c.config_id = t.config_id
WHERE t.best_energy_before IS NULL OR t.energy_j < t.best_energy_before
ORDER BY g.dataset, kernel, problem, t.platform, t.runtime_ns
