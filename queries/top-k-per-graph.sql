-- The k fastest configurations of each graph, program and build on one platform, by best runtime.
-- platform platform : platform, as in `records.platform`
-- parameter k = 3 : number of configurations per graph, program and build
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, p.program, p.build, p.rank, p.runtime_ns, p.runtime_ns / p.best_ns AS times_slower_than_best,
  p.measurements, p.config_id, c.steps
FROM (
  SELECT r.*, k.program, k.build, min(r.runtime_ns) OVER kernel AS best_ns,
    row_number() OVER (PARTITION BY r.graph_id, k.program, k.build ORDER BY r.runtime_ns, r.config_id) AS rank
  FROM (
    SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns, count(*) AS measurements
    FROM records
    WHERE platform = $platform AND status = 'ok'
    GROUP BY graph_id, config_id
  ) AS r
  LEFT JOIN (
    SELECT config_id, program, build FROM configurations WHERE program IS NOT NULL OR build IS NOT NULL
  ) AS k ON k.config_id = r.config_id
  WINDOW kernel AS (PARTITION BY r.graph_id, k.program, k.build)
) AS p
JOIN graphs AS g ON g.graph_id = p.graph_id
JOIN configurations AS c ON c.graph_id = p.graph_id AND c.config_id = p.config_id
WHERE p.rank <= $k
ORDER BY g.workload_key, p.program, p.build, p.rank
