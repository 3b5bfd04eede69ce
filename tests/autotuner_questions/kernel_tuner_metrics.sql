-- kernel_tuner_metrics: vector_add: minimum energy (J), its configuration, and the energy of the fastest
SELECT min(energy_j), min_by(block_size, energy_j), min_by(energy_j, runtime_ns)
FROM (
  SELECT r.runtime_ns, metric(r.metrics, 'energy') AS energy_j,
    CAST(json_text(c.steps, 'block_size_x') AS BIGINT) AS block_size
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name LIKE '%/vector_add_energy_RTX_4000_Ada.json');

-- kernel_tuner_metrics: vector_add: members of the Pareto front of time and energy
WITH trials AS (
  SELECT r.runtime_ns, metric(r.metrics, 'energy') AS energy_j,
    CAST(json_text(c.steps, 'block_size_x') AS BIGINT) AS block_size
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name LIKE '%/vector_add_energy_RTX_4000_Ada.json')
SELECT block_size FROM trials AS t
WHERE NOT EXISTS (
  SELECT 1 FROM trials AS b WHERE b.runtime_ns <= t.runtime_ns AND b.energy_j <= t.energy_j
    AND (b.runtime_ns < t.runtime_ns OR b.energy_j < t.energy_j))
ORDER BY block_size;

-- kernel_tuner_metrics: fp32: power (W) at the highest and the lowest requested clock
SELECT max_by(power_w, clock), min_by(power_w, clock)
FROM (
  SELECT metric(r.metrics, 'power') AS power_w, CAST(json_text(c.steps, 'nvml_gr_clock') AS BIGINT) AS clock
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name LIKE '%/fp32_power_RTX_A4000.json');

-- kernel_tuner_metrics: fp32: requested clocks that the device missed by more than 5 %
SELECT clock_mhz
FROM (
  SELECT r.line, metric(r.metrics, 'core_freq') AS clock_hz,
    CAST(json_text(c.steps, 'nvml_gr_clock') AS BIGINT) AS clock_mhz
  FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
  WHERE s.name LIKE '%/fp32_power_RTX_A4000.json')
WHERE clock_hz < 0.95e6 * clock_mhz ORDER BY line;

-- kernel_tuner_metrics: fp32: minimum energy of a run as power x time (J) and its clock
SELECT metric(r.metrics, 'power') * r.runtime_ns / 1e9 AS energy_j, CAST(json_text(c.steps, 'nvml_gr_clock') AS BIGINT)
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name LIKE '%/fp32_power_RTX_A4000.json' ORDER BY energy_j LIMIT 1;
