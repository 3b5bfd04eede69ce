-- Fraction of the tried configurations of each graph and platform that are within a percentage of the fastest.
-- parameter percent = 5 : maximum distance from the fastest, in percent
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, t.platform, t.config_count, t.timed_count,
  t.near_count, 1.0 * t.near_count / t.config_count AS near_fraction, t.best_ns
FROM (
  SELECT r.graph_id, r.platform, count(DISTINCT r.config_id) AS config_count,
    count(DISTINCT CASE WHEN r.status = 'ok' THEN r.config_id END) AS timed_count,
    count(DISTINCT CASE WHEN r.runtime_ns <= b.best_ns * (1 + $percent / 100.0) THEN r.config_id END) AS near_count,
    min(b.best_ns) AS best_ns
  FROM records AS r
  JOIN (SELECT graph_id, platform, min(runtime_ns) AS best_ns FROM records WHERE status = 'ok' GROUP BY graph_id, platform) AS b
    ON b.graph_id = r.graph_id AND b.platform = r.platform
  JOIN environments AS e ON e.environment_id = r.environment_id
  WHERE coalesce(json_text(e.settings, 'coverage'), 'all trials') = 'all trials'
  GROUP BY r.graph_id, r.platform
) AS t
JOIN graphs AS g ON g.graph_id = t.graph_id
ORDER BY g.dataset, kernel, problem, t.platform
