-- kernelbench: H100 PCIe: geometric mean of eager over compiled, by level
WITH times AS (
  SELECT r.graph_id, min(r.runtime_ns) FILTER (WHERE s.name LIKE '%/baseline_time_torch.json') AS eager_ns,
    min(r.runtime_ns) FILTER (WHERE s.name LIKE '%_inductor_default.json') AS compiled_ns
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernelbench/H100_PCIe_LambdaLabs/%' GROUP BY r.graph_id)
SELECT json_text(json_elements(g.workload_args)[1], 'level') AS level, geomean(t.eager_ns / t.compiled_ns)
FROM times AS t JOIN graphs AS g USING (graph_id) GROUP BY level ORDER BY level;

-- kernelbench: H100 PCIe: the largest gain of the compiler
WITH times AS (
  SELECT r.graph_id, min(r.runtime_ns) FILTER (WHERE s.name LIKE '%/baseline_time_torch.json') AS eager_ns,
    min(r.runtime_ns) FILTER (WHERE s.name LIKE '%_inductor_default.json') AS compiled_ns
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernelbench/H100_PCIe_LambdaLabs/%' GROUP BY r.graph_id)
SELECT t.eager_ns / t.compiled_ns AS gain, g.workload_name
FROM times AS t JOIN graphs AS g USING (graph_id) ORDER BY gain DESC NULLS LAST LIMIT 1;

-- kernelbench: H100 PCIe: problems slower when compiled
WITH times AS (
  SELECT r.graph_id, min(r.runtime_ns) FILTER (WHERE s.name LIKE '%/baseline_time_torch.json') AS eager_ns,
    min(r.runtime_ns) FILTER (WHERE s.name LIKE '%_inductor_default.json') AS compiled_ns
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernelbench/H100_PCIe_LambdaLabs/%' GROUP BY r.graph_id)
SELECT count(*) FROM times WHERE compiled_ns > eager_ns;

-- kernelbench: A100 file: hardware names and their records
SELECT r.platform, count(*) FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/kernelbench/A100_modal/baseline_time_torch.json' GROUP BY r.platform ORDER BY r.platform;

-- kernelbench: L4 with max-autotune: problems without a time
SELECT count(*) FROM records JOIN environments AS e USING (environment_id)
WHERE platform = 'NVIDIA L4' AND status = 'failed'
  AND json_text(json_text(e.settings, 'header'), 'mode') = 'torch_compile_inductor_max-autotune';
