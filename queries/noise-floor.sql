-- Noise floor of each platform: spread between measurements of the same configuration.
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=bar x=platform y=median_spread_percent by=platform
WITH again AS (
  SELECT platform, config_id, count(*) AS measurement_count,
    max(runtime_ns) / min(runtime_ns) - 1 AS spread,
    stddev_pop(runtime_ns) / avg(runtime_ns) AS deviation
  FROM records
  WHERE status = 'ok'
  GROUP BY platform, config_id
  HAVING count(*) > 1 AND min(runtime_ns) > 0
)
SELECT platform, count(*) AS program_count, sum(measurement_count) AS measurement_count,
  100 * median(deviation) AS median_deviation_percent,
  100 * median(spread) AS median_spread_percent,
  100 * percentile_cont(0.9) WITHIN GROUP (ORDER BY spread) AS p90_spread_percent,
  100 * max(spread) AS max_spread_percent
FROM again
GROUP BY platform
ORDER BY platform
