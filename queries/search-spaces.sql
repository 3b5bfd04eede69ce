-- Coverage of the search space of each graph and platform: exhaustive, searched, or only winners.
-- needs search_spaces() : records of autotuners
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, s.platform, s.verdict,
  s.config_count, s.timed_count, s.valid_count, 1.0 * s.config_count / s.valid_count AS coverage, s.outside_count,
  f.name AS space, s.reason
FROM search_spaces() AS s
JOIN graphs AS g ON g.graph_id = s.graph_id
LEFT JOIN sources AS f ON f.source_id = s.space_source_id
ORDER BY s.verdict, g.dataset, kernel, problem, s.platform
