-- flashinfer: cases that more than one backend was timed on
SELECT count(*) FROM (
  SELECT graph_id FROM records WHERE dataset = 'flashinfer' GROUP BY graph_id HAVING count(DISTINCT config_id) > 1);

-- flashinfer: of these, wins by backend
SELECT json_text(c.steps, 'backend') AS backend, count(*)
FROM (
  SELECT min_by(config_id, runtime_ns) AS config_id FROM records
  WHERE dataset = 'flashinfer' GROUP BY graph_id HAVING count(DISTINCT config_id) > 1) AS best
JOIN configurations AS c ON c.config_id = best.config_id
GROUP BY backend ORDER BY backend;

-- flashinfer: highest tflops, its routine and backend
SELECT metric(r.metrics, 'flop_rate') / 1e12 AS tflops, g.workload_name, json_text(c.steps, 'backend')
FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.dataset = 'flashinfer' ORDER BY tflops DESC NULLS LAST LIMIT 1;

-- flashinfer: highest tb_per_sec, its routine and backend
SELECT metric(r.metrics, 'bandwidth') / 1e12 AS tb_per_sec, g.workload_name, json_text(c.steps, 'backend')
FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.dataset = 'flashinfer' ORDER BY tb_per_sec DESC NULLS LAST LIMIT 1;

-- flashinfer: records whose deviation is more than 10 % of the median
SELECT count(*) FROM records WHERE dataset = 'flashinfer' AND metric(metrics, 'time_std') * 1e9 > 0.1 * runtime_ns;
