-- kernel_tuner_cost: convolution_milo, A100: seconds of compiling, of benchmarking, from the first time stamp to the last
-- exception: `measured_at` has whole seconds, the file has microseconds
-- result: [11874.415336179081, 316.03259848966263, 12198]
SELECT sum(metric(r.metrics, 'compile_time')), sum(metric(r.metrics, 'benchmark_time')),
  to_unixtime(max(r.measured_at)) - to_unixtime(min(r.measured_at))
FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz';

-- kernel_tuner_cost: convolution_milo, A100: the two best means and their standard errors (ms)
SELECT runtime_ns / 1e6, list_std(repeats_ns) / sqrt(repeat_count) / 1e6
FROM records JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz'
ORDER BY runtime_ns LIMIT 2;

-- kernel_tuner_cost: convolution_milo, A100: mean compile time of failed and of valid configurations (ms)
SELECT avg(1000 * metric(r.metrics, 'compile_time')) FILTER (WHERE r.status = 'failed'),
  avg(1000 * metric(r.metrics, 'compile_time')) FILTER (WHERE r.status = 'ok')
FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz';

-- kernel_tuner_cost: convolution_milo, A100: best time with and without use_shmem (ms)
SELECT min(r.runtime_ns) / 1e6 AS best_ms
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz'
GROUP BY json_text(c.steps, 'use_shmem') ORDER BY json_text(c.steps, 'use_shmem') DESC;

-- kernel_tuner_cost: convolution_milo, A100: median time of the valid configurations over the best
SELECT median(runtime_ns) / min(runtime_ns)
FROM records JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz';
