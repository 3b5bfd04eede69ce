-- flashinfer_bench: all traces by status
SELECT coalesce(split_part(error_message, ':', 1), 'PASSED') AS word, count(*)
FROM records WHERE dataset = 'flashinfer_bench' GROUP BY word ORDER BY word;

-- flashinfer_bench: gemm_n128_k2048: maximum and minimum speed-up of the solution
SELECT max(metric(r.metrics, 'speed_up')), min(metric(r.metrics, 'speed_up'))
FROM records AS r JOIN graphs AS g USING (graph_id) WHERE g.workload_name = 'gemm_n128_k2048';

-- flashinfer_bench: gemm_n128_k2048: M of the wrong answers
SELECT CAST(json_text(json_elements(g.workload_args)[1], 'M') AS BIGINT) AS m
FROM records AS r JOIN graphs AS g USING (graph_id)
WHERE g.workload_name = 'gemm_n128_k2048' AND r.error_no = 5 ORDER BY m;

-- flashinfer_bench: gemm_n128_k2048: largest relative error among passed
SELECT max(metric(r.metrics, 'max_relative_error'))
FROM records AS r JOIN graphs AS g USING (graph_id)
WHERE g.workload_name = 'gemm_n128_k2048' AND r.status = 'ok';

-- flashinfer_bench: all traces: bytes of logs
SELECT sum(octet_length(CASE WHEN status = 'ok' THEN json_text(attributes, 'log')
  ELSE substr(error_message, strpos(error_message || ': ', ': ') + 2) END))
FROM records WHERE dataset = 'flashinfer_bench';
