-- tunableop: winners by library
SELECT coalesce(nullif(split_part(json_text(c.steps, 'solution'), '_', 2), ''), 'Default') AS library, count(*)
FROM records AS r JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.dataset = 'tunableop' GROUP BY library ORDER BY library;

-- tunableop: highest TFLOP/s and its parameters
WITH problems AS (
  SELECT graph_id, json_text(json_elements(workload_args)[1], 'params') AS params FROM graphs WHERE dataset = 'tunableop')
SELECT 2.0 * CAST(split_part(p.params, '_', 2) AS DOUBLE) * CAST(split_part(p.params, '_', 3) AS DOUBLE)
  * CAST(split_part(p.params, '_', 4) AS DOUBLE) / r.runtime_ns / 1e3 AS tflops, p.params
FROM records AS r JOIN problems AS p USING (graph_id)
ORDER BY tflops DESC NULLS LAST LIMIT 1;

-- tunableop: sum of the times (ms)
SELECT sum(runtime_ns) / 1e6 FROM records WHERE dataset = 'tunableop';

-- tunableop: parameters without a time
SELECT json_text(json_elements(g.workload_args)[1], 'params')
FROM records AS r JOIN graphs AS g USING (graph_id)
WHERE r.dataset = 'tunableop' AND r.runtime_ns IS NULL ORDER BY r.line;

-- tunableop: distinct solutions
SELECT count(DISTINCT json_text(c.steps, 'solution'))
FROM records AS r JOIN configurations AS c ON c.config_id = r.config_id WHERE r.dataset = 'tunableop';
