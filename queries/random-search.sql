-- Random search over exhaustively measured spaces: expected best after some trials, as a fraction of the optimum's speed.
-- parameter percent = 5 : distance from the optimum that `draws_95` trials reach with a probability of 95 %
-- needs search_spaces() WHERE verdict = 'exhaustive' : graphs whose search space was measured exhaustively
SELECT g.dataset, g.workload_name AS kernel, g.workload_args AS problem, t.platform, t.config_count, t.timed_count, t.best_ns,
  t.best_ns / t.best_1_ns AS fraction_1, t.best_ns / t.best_10_ns AS fraction_10, t.best_ns / t.best_100_ns AS fraction_100,
  t.draws_95
FROM (
  SELECT graph_id, platform, count(*) AS config_count, count(best_ns) AS timed_count, min(best_ns) AS best_ns,
    expected_best(best_ns, 1) AS best_1_ns, expected_best(best_ns, 10) AS best_10_ns,
    expected_best(best_ns, 100) AS best_100_ns, draws_to_reach(best_ns, $percent, 0.95) AS draws_95
  FROM (
    SELECT r.graph_id, r.platform, r.config_id, min(r.runtime_ns) AS best_ns
    FROM records AS r
    JOIN search_spaces() AS s ON s.graph_id = r.graph_id AND s.platform = r.platform
    WHERE s.verdict = 'exhaustive' AND r.status <> 'unmeasured'
    GROUP BY r.graph_id, r.platform, r.config_id
  ) AS configs
  GROUP BY graph_id, platform
) AS t
JOIN graphs AS g ON g.graph_id = t.graph_id
ORDER BY g.dataset, kernel, problem, t.platform
