-- Status of GraphNet runs: as stated by the logs, and by the rules of upstream's analysis.
-- plot: kind=bar x=status y=runs by=upstream_status
SELECT
  coalesce(status, 'unstated') AS status,
  upstream_status,
  count(*) AS runs,
  count(speedup) AS with_speedup,
  min(model_path) AS example
FROM runs
GROUP BY coalesce(status, 'unstated'), upstream_status
ORDER BY runs DESC, status, upstream_status
