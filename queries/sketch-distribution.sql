-- Sketches of each task: number of configurations, and best runtime relative to the best of the task.
-- platform platform : platform, as in `records.platform`
-- parameter limit = 100 : maximum number of sketches
-- needs configurations WHERE sketch IS NOT NULL : configurations with sketches (TenSet logs have them)
-- needs records WHERE status = 'ok' : records with status `ok`
SELECT g.workload_key, s.rank AS sketch_rank, s.program_count, 100.0 * s.program_count / s.of_task AS percent_of_programs,
  s.best_ns, s.best_ns / s.task_best_ns AS times_slower_than_best, s.sketch
FROM (
  SELECT graph_id, sketch, program_count, best_ns,
    row_number() OVER (PARTITION BY graph_id ORDER BY best_ns, sketch) AS rank,
    sum(program_count) OVER (PARTITION BY graph_id) AS of_task, min(best_ns) OVER (PARTITION BY graph_id) AS task_best_ns
  FROM (
    SELECT c.graph_id, c.sketch, count(DISTINCT c.config_id) AS program_count, min(r.runtime_ns) AS best_ns
    FROM records AS r
    JOIN configurations AS c ON c.graph_id = r.graph_id AND c.config_id = r.config_id
    WHERE r.platform = $platform AND r.status = 'ok' AND c.sketch IS NOT NULL
    GROUP BY c.graph_id, c.sketch
  ) AS each_sketch
) AS s
JOIN graphs AS g ON g.graph_id = s.graph_id
ORDER BY g.workload_key, s.rank
LIMIT $limit
