-- kernel_tuner: convolution: best configuration of the 2080 Ti, its time on the 3090 over the best there
WITH times AS (
  SELECT r.platform, r.config_id, r.runtime_ns FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernel_tuner/convolution/%' AND r.status = 'ok'),
ampere AS (SELECT config_id, runtime_ns, min(runtime_ns) OVER () AS best_ns FROM times WHERE platform LIKE '%3090')
SELECT c.steps, a.runtime_ns / a.best_ns AS slowdown
FROM times AS t JOIN configurations AS c ON c.config_id = t.config_id LEFT JOIN ampere AS a ON a.config_id = t.config_id
WHERE t.platform LIKE '%2080 Ti' ORDER BY t.runtime_ns LIMIT 1;

-- kernel_tuner: convolution: configurations that run on both devices
SELECT count(*) FROM (
  SELECT config_id FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernel_tuner/convolution/%' AND status = 'ok'
  GROUP BY config_id HAVING count(DISTINCT r.platform) = 2);

-- kernel_tuner: convolution: failed on one device only (2080 Ti only, 3090 only)
SELECT count(*) FILTER (WHERE turing = 'failed' AND ampere = 'ok'),
  count(*) FILTER (WHERE turing = 'ok' AND ampere = 'failed')
FROM (
  SELECT max(status) FILTER (WHERE r.platform LIKE '%2080 Ti') AS turing,
    max(status) FILTER (WHERE r.platform LIKE '%3090') AS ampere
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernel_tuner/convolution/%' GROUP BY config_id);

-- kernel_tuner: convolution, 3090: valid configurations within 10 % of the best
SELECT count(*) FROM (
  SELECT runtime_ns, min(runtime_ns) OVER () AS best_ns FROM records JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/kernel_tuner/convolution/RTX_3090.json.gz')
WHERE runtime_ns <= 1.1 * best_ns;

-- kernel_tuner: convolution: rank correlation (Spearman, ties averaged) of the times on both devices
WITH times AS (
  SELECT min(runtime_ns) FILTER (WHERE r.platform LIKE '%2080 Ti') AS turing,
    min(runtime_ns) FILTER (WHERE r.platform LIKE '%3090') AS ampere
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name LIKE 'autotuners/kernel_tuner/convolution/%' GROUP BY config_id)
SELECT corr(turing_rank, ampere_rank) FROM (
  SELECT rank() OVER (ORDER BY turing) + count(*) OVER (PARTITION BY turing) / 2.0 AS turing_rank,
    rank() OVER (ORDER BY ampere) + count(*) OVER (PARTITION BY ampere) / 2.0 AS ampere_rank
  FROM times WHERE turing IS NOT NULL AND ampere IS NOT NULL);
