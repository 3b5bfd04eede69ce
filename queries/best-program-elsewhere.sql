-- Slowdown on one platform of the fastest configuration of another, by graph, program and build.
-- platform from_platform : platform with the fastest configuration
-- platform to_platform : platform that runs it
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, t.program, t.build, t.config_id, t.runtime_ns AS to_runtime_ns, t.best_ns AS to_best_ns,
  t.runtime_ns / t.best_ns AS times_slower_than_best, t.rank, t.program_count
FROM (
  SELECT r.graph_id, r.config_id, row_number() OVER (
    PARTITION BY r.graph_id, k.program, k.build ORDER BY r.runtime_ns, r.config_id) AS rank
  FROM (
    SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns
    FROM records
    WHERE platform = $from_platform AND status = 'ok'
    GROUP BY graph_id, config_id
  ) AS r
  LEFT JOIN (
    SELECT config_id, program, build FROM configurations WHERE program IS NOT NULL OR build IS NOT NULL
  ) AS k ON k.config_id = r.config_id
) AS f
JOIN (
  SELECT r.graph_id, r.config_id, r.runtime_ns, k.program, k.build,
    min(r.runtime_ns) OVER kernel AS best_ns,
    rank() OVER (PARTITION BY r.graph_id, k.program, k.build ORDER BY r.runtime_ns) AS rank,
    count(*) OVER kernel AS program_count
  FROM (
    SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns
    FROM records
    WHERE platform = $to_platform AND status = 'ok'
    GROUP BY graph_id, config_id
  ) AS r
  LEFT JOIN (
    SELECT config_id, program, build FROM configurations WHERE program IS NOT NULL OR build IS NOT NULL
  ) AS k ON k.config_id = r.config_id
  WINDOW kernel AS (PARTITION BY r.graph_id, k.program, k.build)
) AS t ON t.graph_id = f.graph_id AND t.config_id = f.config_id
JOIN graphs AS g ON g.graph_id = f.graph_id
WHERE f.rank = 1
ORDER BY times_slower_than_best DESC, g.workload_key, t.program, t.build
