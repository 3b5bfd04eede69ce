-- nvbench: states by reason of skipping
SELECT coalesce(r.error_message, 'timed') AS reason, count(*)
FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/nvbench/test_ref.json.gz' GROUP BY reason ORDER BY reason;

-- nvbench: states that changed by more than their own noise between the two runs
SELECT count(*) FROM (
  SELECT min(r.runtime_ns) FILTER (WHERE s.name LIKE '%test_ref%') AS before_ns,
    min(r.runtime_ns) FILTER (WHERE s.name LIKE '%test_cmp%') AS after_ns, max(metric(r.metrics, 'noise')) AS noise
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/nvbench/test_%' GROUP BY r.config_id, r.platform)
WHERE abs(after_ns / before_ns - 1) > noise;

-- nvbench: highest fraction of the memory bandwidth and its state
SELECT metric(r.metrics, 'bandwidth_fraction') AS fraction, c.steps, r.platform
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/nvbench/test_ref.json.gz' ORDER BY fraction DESC NULLS LAST LIMIT 1;

-- nvbench: samples taken in all
SELECT sum(metric(r.metrics, 'sample_count')) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/nvbench/test_ref.json.gz';

-- nvbench: median of GP100 time over GV100 time
SELECT median(pascal.runtime_ns / volta.runtime_ns)
FROM records AS pascal JOIN records AS volta USING (source_id, graph_id, config_id) JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/nvbench/test_ref.json.gz'
  AND pascal.platform = 'Quadro GP100' AND volta.platform = 'Quadro GV100';
