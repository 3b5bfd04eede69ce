-- aiter: all tuned files: rows, of them without a time, failed
-- exception: the six placeholder rows (1 us, no FLOP/s) of a table have no time in tsql
-- result: [3005, 273, 1]
SELECT count(*), count(*) FILTER (WHERE status = 'unmeasured'), count(*) FILTER (WHERE status = 'failed')
FROM records WHERE dataset = 'aiter';

-- aiter: dsv3 a8w8: the highest tflops and its M, N, K
WITH problems AS (
  SELECT graph_id, json_elements(workload_args)[1] AS problem FROM graphs
  WHERE workload_name = 'dsv3_a8w8_bpreshuffle_tuned_gemm')
SELECT metric(r.metrics, 'flop_rate') / 1e12 AS tflops,
  json_text(p.problem, 'M'), json_text(p.problem, 'N'), json_text(p.problem, 'K')
FROM records AS r JOIN problems AS p USING (graph_id)
ORDER BY tflops DESC LIMIT 1;

-- aiter: dsv3 a8w8: winners by library
-- exception: the six placeholder rows (1 us, no FLOP/s) of this table have no time in tsql
-- result: {"ck": 1390, "cktile": 9, "flydsl": 114}
SELECT json_text(c.steps, 'libtype') AS library, count(*)
FROM records AS r JOIN graphs AS g USING (graph_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE g.workload_name = 'dsv3_a8w8_bpreshuffle_tuned_gemm' AND r.status = 'ok'
GROUP BY library ORDER BY library;

-- aiter: dsv3 a8w8: shapes tuned on gfx942 and gfx950
WITH problems AS (
  SELECT graph_id, json_elements(workload_args)[1] AS problem FROM graphs
  WHERE workload_name = 'dsv3_a8w8_bpreshuffle_tuned_gemm')
SELECT count(*) FROM (
  SELECT json_text(p.problem, 'M') AS m, json_text(p.problem, 'N') AS n, json_text(p.problem, 'K') AS k
  FROM records AS r JOIN problems AS p USING (graph_id)
  WHERE r.status = 'ok' GROUP BY m, n, k HAVING count(DISTINCT json_text(r.attributes, 'gfx')) = 2);

-- aiter: fmoe of DeepSeek-V3: rows whose second stage is wrong by more than 5 %
SELECT count(*) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/aiter/a8w8_blockscale_tuned_fmoe_ds_v3.csv' AND metric(r.metrics, 'stage2_error') > 0.05;
