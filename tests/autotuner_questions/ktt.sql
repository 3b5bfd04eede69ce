-- ktt: pnpoly on the 3090: configurations that both KTT and Kernel Tuner timed
WITH times AS (
  SELECT r.runtime_ns, s.dataset, c.steps, concat_ws(' ', json_text(lower(c.steps), 'between_method'),
      json_text(lower(c.steps), 'block_size_x'), json_text(lower(c.steps), 'tile_size'),
      json_text(lower(c.steps), 'use_method')) AS parameters
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name IN ('autotuners/ktt/KTPnpolyOutput_3090.json.gz', 'autotuners/kernel_tuner/pnpoly/RTX_3090.json.gz'))
SELECT count(*) FROM (
  SELECT parameters FROM times WHERE runtime_ns IS NOT NULL GROUP BY parameters HAVING count(DISTINCT dataset) = 2);

-- ktt: pnpoly on the 3090: best configuration by KTT, its KTT time (us) and its Kernel Tuner time (ms)
WITH times AS (
  SELECT r.runtime_ns, s.dataset, c.steps, concat_ws(' ', json_text(lower(c.steps), 'between_method'),
      json_text(lower(c.steps), 'block_size_x'), json_text(lower(c.steps), 'tile_size'),
      json_text(lower(c.steps), 'use_method')) AS parameters
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name IN ('autotuners/ktt/KTPnpolyOutput_3090.json.gz', 'autotuners/kernel_tuner/pnpoly/RTX_3090.json.gz'))
SELECT b.steps, a.runtime_ns / 1e3, b.runtime_ns / 1e6
FROM times AS a JOIN times AS b USING (parameters)
WHERE a.dataset = 'ktt' AND b.dataset = 'kerneltuner' ORDER BY a.runtime_ns LIMIT 1;

-- ktt: pnpoly on the 3090: fraction of configurations where KTT's time is within 5 % of Kernel Tuner's
WITH times AS (
  SELECT r.runtime_ns, s.dataset, c.steps, concat_ws(' ', json_text(lower(c.steps), 'between_method'),
      json_text(lower(c.steps), 'block_size_x'), json_text(lower(c.steps), 'tile_size'),
      json_text(lower(c.steps), 'use_method')) AS parameters
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name IN ('autotuners/ktt/KTPnpolyOutput_3090.json.gz', 'autotuners/kernel_tuner/pnpoly/RTX_3090.json.gz'))
SELECT avg(CASE WHEN abs(a.runtime_ns / b.runtime_ns - 1) <= 0.05 THEN 1.0 ELSE 0.0 END)
FROM times AS a JOIN times AS b USING (parameters)
WHERE a.dataset = 'ktt' AND b.dataset = 'kerneltuner' AND a.runtime_ns IS NOT NULL AND b.runtime_ns IS NOT NULL;

-- ktt: coulomb on the 2080 Ti: configuration with the most warps active
SELECT m.value, c.steps
FROM metrics AS m JOIN records AS r USING (source_id, line) JOIN sources AS s USING (source_id)
  JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/ktt/coulomb_2080_full_search_space.json.gz'
  AND m.name = 'sm__warps_active.avg.pct_of_peak_sustained_active'
ORDER BY m.value DESC LIMIT 1;

-- ktt: coulomb on the 2080 Ti: correlation of time and registers
SELECT corr(r.runtime_ns, metric(r.metrics, 'registers'))
FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/ktt/coulomb_2080_full_search_space.json.gz';
