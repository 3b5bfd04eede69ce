-- t4: records of the T4 file that equal the cache's in configuration, time and repeats
WITH trials AS (
  SELECT s.dataset, c.steps, r.runtime_ns, r.repeats_ns
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name LIKE 'autotuners/kernel_tuner/convolution_milo/A100%')
SELECT count(*)
FROM trials AS a JOIN trials AS b ON a.steps = b.steps AND a.runtime_ns IS NOT DISTINCT FROM b.runtime_ns
  AND a.repeats_ns IS NOT DISTINCT FROM b.repeats_ns
WHERE a.dataset = 't4' AND b.dataset = 'kerneltuner';

-- t4: metrics of the cache that the T4 file lacks
SELECT m.raw_name
FROM metrics AS m JOIN sources AS s USING (source_id)
WHERE s.name LIKE 'autotuners/kernel_tuner/convolution_milo/A100%.json.gz'
GROUP BY m.raw_name HAVING bool_and(s.dataset = 'kerneltuner') ORDER BY m.raw_name;

-- t4: failures by invalidity
SELECT r.error_message, count(*) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100_T4.json.gz' AND r.status = 'failed'
GROUP BY r.error_message ORDER BY r.error_message;

-- t4: repeats in all
SELECT sum(r.repeat_count) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100_T4.json.gz';

-- t4: best time (ms)
SELECT min(r.runtime_ns) / 1e6 FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100_T4.json.gz';
