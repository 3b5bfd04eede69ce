-- neusight: layer norm: records by device
SELECT r.platform, count(*) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/neusight/test_ln.csv' GROUP BY r.platform ORDER BY r.platform;

-- neusight: layer norm: shapes timed on all seven devices
SELECT count(*) FROM (
  SELECT r.graph_id FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/neusight/test_ln.csv' GROUP BY r.graph_id HAVING count(DISTINCT r.platform) = 7);

-- neusight: layer norm: median of V100 time over A100-PCIE-40GB time on common shapes
SELECT median(v.runtime_ns / a.runtime_ns)
FROM records AS v JOIN records AS a USING (graph_id) JOIN graphs AS g USING (graph_id)
WHERE g.dataset = 'mapped_table' AND g.workload_name = 'ln'
  AND v.platform = 'Tesla V100-PCIE-32GB' AND a.platform = 'NVIDIA A100-PCIE-40GB';

-- neusight: softmax: distinct kernels
SELECT count(DISTINCT json_text(c.steps, 'Kernel Name'))
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/neusight/test_softmax.csv';

-- neusight: softmax: the slowest record (ms) and its device
SELECT r.runtime_ns / 1e6, r.platform FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/neusight/test_softmax.csv' ORDER BY r.runtime_ns DESC LIMIT 1;
