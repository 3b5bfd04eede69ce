-- Summary of each platform: graphs, configurations, records, failures, noise and measuring time.
-- plot: kind=bar x=platform y=records by=dataset
SELECT dataset, platform, count(DISTINCT graph_id) AS graphs, count(DISTINCT config_id) AS programs,
  count(*) AS records,
  count(*) FILTER (WHERE status = 'failed') AS failed,
  count(*) FILTER (WHERE status = 'unmeasured') AS unmeasured,
  min(runtime_ns) AS fastest_ns, median(runtime_ns) AS median_ns, max(runtime_ns) AS slowest_ns,
  median(noise) AS median_noise,
  sum(CAST(all_cost_s AS DOUBLE)) AS measuring_s,
  min(measured_at) AS first_at, max(measured_at) AS last_at
FROM records
GROUP BY dataset, platform
ORDER BY dataset, platform
