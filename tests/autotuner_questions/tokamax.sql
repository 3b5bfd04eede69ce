-- tokamax: all files: timed configurations
SELECT count(*) FROM records WHERE dataset = 'tokamax' AND status = 'ok';

-- tokamax: H100: graphs of ragged_dot that both Mosaic and Triton have, geometric mean of Triton's time over Mosaic's
WITH best AS (
  SELECT r.graph_id, json_text(c.steps, 'implementation') AS implementation, min(r.runtime_ns) AS best_ns
  FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE r.dataset = 'tokamax' AND r.platform = 'nvidia_h100_80gb_hbm3' AND g.workload_name = 'ragged_dot'
  GROUP BY r.graph_id, implementation)
SELECT count(*), geomean(triton.best_ns / mosaic.best_ns)
FROM best AS triton JOIN best AS mosaic USING (graph_id)
WHERE triton.implementation = 'pallas_triton' AND mosaic.implementation = 'pallas_mosaic_gpu';

-- tokamax: B200: graphs where Mosaic beats Triton, of those that both have
WITH best AS (
  SELECT r.graph_id, json_text(c.steps, 'implementation') AS implementation, min(r.runtime_ns) AS best_ns
  FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE r.dataset = 'tokamax' AND r.platform = 'nvidia_b200' AND g.workload_name = 'ragged_dot'
  GROUP BY r.graph_id, implementation)
SELECT count(*) FILTER (WHERE mosaic.best_ns < triton.best_ns), count(*)
FROM best AS triton JOIN best AS mosaic USING (graph_id)
WHERE triton.implementation = 'pallas_triton' AND mosaic.implementation = 'pallas_mosaic_gpu';

-- tokamax: all files: the longest compile time (ms) and its file
SELECT 1000 * metric(r.metrics, 'compile_time') AS compile_ms, replace(s.name, 'autotuners/', '')
FROM records AS r JOIN sources AS s USING (source_id)
WHERE r.dataset = 'tokamax' ORDER BY compile_ms DESC LIMIT 1;

-- tokamax: all files: records whose repeats spread more than 10 % (maximum over minimum)
SELECT count(*) FROM records WHERE dataset = 'tokamax' AND array_max(repeats_ns) > 1.1 * array_min(repeats_ns);
