-- Noise floor of TpuGraphs files: spread between runtimes of the same configuration.
-- parameter runs = 3 : minimum number of rows of a configuration
SELECT
  s.id,
  count(*) AS configurations,
  max(c.samples) AS max_samples,
  median(c.spread) AS median_spread,
  max(c.spread) AS max_spread
FROM (
  SELECT source_id, config_id, count(*) AS samples, max(runtime_ns) / min(runtime_ns) - 1 AS spread
  FROM records
  WHERE dataset = 'tpugraphs' AND runtime_ns IS NOT NULL
  GROUP BY source_id, config_id
  HAVING count(*) >= $runs
) AS c
JOIN sources AS s ON s.source_id = c.source_id
GROUP BY s.id
ORDER BY median_spread DESC
