-- tvm: matmul: records by error number
SELECT CAST(error_no AS VARCHAR) AS error, count(*) FROM records JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/tvm/autotvm/matmul_128_256_256.log.gz' GROUP BY error ORDER BY error;

-- tvm: matmul: index of the best configuration and its GFLOP/s
SELECT CAST(json_text(c.steps, 'index') AS BIGINT), 2.0 * 128 * 256 * 256 / r.runtime_ns
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/tvm/autotvm/matmul_128_256_256.log.gz' ORDER BY r.runtime_ns LIMIT 1;

-- tvm: matmul: trials until within 5 % of the best, failures counted
SELECT min(line) FROM (
  SELECT line, runtime_ns, min(runtime_ns) OVER () AS best_ns FROM records JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/tvm/autotvm/matmul_128_256_256.log.gz')
WHERE runtime_ns <= 1.05 * best_ns;

-- tvm: matmul: sum of all_cost (s)
SELECT sum(all_cost_s) FROM records JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/tvm/autotvm/matmul_128_256_256.log.gz';

-- tvm: depthwise: records, best time (s), failures
SELECT count(*), min(runtime_ns) / 1e9, count(*) FILTER (WHERE status = 'failed')
FROM records JOIN sources AS s USING (source_id)
WHERE s.name LIKE 'autotuners/tvm/autotvm/depthwise%';
