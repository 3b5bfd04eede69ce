-- Variance of the logarithm of the runtime that each parameter explains alone, for each graph and platform.
-- needs configurations WHERE json_keys(steps) IS NOT NULL : configurations with named parameters
-- plot: kind=bar x=parameter y=explained_fraction by=platform
WITH trials AS (
  SELECT r.graph_id, r.platform, r.config_id, ln(min(r.runtime_ns)) AS log_time
  FROM records AS r
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE r.status = 'ok' AND coalesce(json_text(e.settings, 'coverage'), 'all trials') = 'all trials'
  GROUP BY r.graph_id, r.platform, r.config_id
), totals AS (
  SELECT graph_id, platform, count(*) AS config_count, avg(log_time) AS mean_log, var_pop(log_time) AS variance
  FROM trials
  GROUP BY graph_id, platform
), settings AS (
  SELECT t.graph_id, t.platform, t.log_time, c.steps, unnest(json_keys(c.steps)) AS parameter
  FROM trials AS t
  JOIN configurations AS c ON c.graph_id = t.graph_id AND c.config_id = t.config_id
), by_value AS (
  SELECT graph_id, platform, parameter, json_text(steps, parameter) AS parameter_value, count(*) AS configs,
    avg(log_time) AS value_log
  FROM settings
  GROUP BY graph_id, platform, parameter, parameter_value
)
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, v.platform, v.parameter,
  count(*) AS value_count, sum(v.configs) AS config_count,
  sum(v.configs * power(v.value_log - t.mean_log, 2)) / (max(t.config_count) * max(t.variance)) AS explained_fraction,
  arg_min(v.parameter_value, v.value_log) AS best_value
FROM by_value AS v
JOIN totals AS t ON t.graph_id = v.graph_id AND t.platform = v.platform
JOIN graphs AS g ON g.graph_id = v.graph_id
WHERE t.variance > 0
GROUP BY g.dataset, kernel, problem, v.platform, v.parameter
HAVING count(*) > 1
ORDER BY g.dataset, kernel, problem, v.platform, explained_fraction DESC, v.parameter
