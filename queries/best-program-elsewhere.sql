-- What is lost by taking one platform's fastest program of each graph to another platform.
-- platform from_platform : where the program was found
-- platform to_platform : where it is to run
SELECT g.workload_key, t.config_id, t.runtime_ns AS runtime_there_ns, t.best_ns AS best_there_ns,
  t.runtime_ns / t.best_ns AS times_slower_than_best, t.place, t.programs
FROM (
  SELECT graph_id, config_id,
    row_number() OVER (PARTITION BY graph_id ORDER BY min(runtime_ns), config_id) AS place
  FROM records
  WHERE platform = $from_platform AND status = 'ok'
  GROUP BY graph_id, config_id
) AS f
JOIN (
  SELECT graph_id, config_id, min(runtime_ns) AS runtime_ns,
    min(min(runtime_ns)) OVER (PARTITION BY graph_id) AS best_ns,
    rank() OVER (PARTITION BY graph_id ORDER BY min(runtime_ns)) AS place,
    count(*) OVER (PARTITION BY graph_id) AS programs
  FROM records
  WHERE platform = $to_platform AND status = 'ok'
  GROUP BY graph_id, config_id
) AS t ON t.graph_id = f.graph_id AND t.config_id = f.config_id
JOIN graphs AS g ON g.graph_id = f.graph_id
WHERE f.place = 1
ORDER BY times_slower_than_best DESC, g.workload_key
