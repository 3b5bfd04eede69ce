-- inductor: blocks, choices shown, choices timed where the footer says so
WITH logs AS (SELECT DISTINCT environment_id FROM records WHERE dataset = 'inductor'),
footers AS (
  SELECT unnest(json_elements(json_text(json_text(e.settings, 'header'), 'footers'))) AS footer
  FROM logs JOIN environments AS e USING (environment_id))
SELECT count(DISTINCT graph_id), count(*), (SELECT sum(CAST(json_text(footer, 'choices') AS BIGINT)) FROM footers)
FROM records WHERE dataset = 'inductor';

-- inductor: blocks that the library's kernel wins
SELECT count(*) FROM (
  SELECT config_id, row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns, line) AS position
  FROM records WHERE dataset = 'inductor') AS r
JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.position = 1 AND json_text(c.steps, 'choice') NOT LIKE 'triton\_%';

-- inductor: best Triton time over the library's time, by sizes
SELECT json_text(json_elements(g.workload_args)[1], 'sizes') AS sizes,
  min(r.runtime_ns) FILTER (WHERE json_text(c.steps, 'choice') LIKE 'triton\_%')
  / min(r.runtime_ns) FILTER (WHERE json_text(c.steps, 'choice') NOT LIKE 'triton\_%')
FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.dataset = 'inductor' GROUP BY sizes ORDER BY sizes;

-- inductor: seconds of benchmarking and of precompiling
WITH logs AS (SELECT DISTINCT environment_id FROM records WHERE dataset = 'inductor'),
footers AS (
  SELECT unnest(json_elements(json_text(json_text(e.settings, 'header'), 'footers'))) AS footer
  FROM logs JOIN environments AS e USING (environment_id))
SELECT sum(CAST(json_text(footer, 'benchmarking_s') AS DOUBLE)), sum(CAST(json_text(footer, 'precompiling_s') AS DOUBLE))
FROM footers;

-- inductor: choices with num_warps=4 among the best three of their block
SELECT count(*) FROM (
  SELECT config_id, row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns, line) AS position
  FROM records WHERE dataset = 'inductor') AS r
JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.position <= 3 AND json_text(c.steps, 'num_warps') = '4';
