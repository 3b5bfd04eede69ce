-- Repeatability of timings: spread of the repeats by platform and graph.
-- parameter noisy = 0.1 : minimum noise (standard deviation over mean) of a noisy record
SELECT r.platform, g.workload_key, count(*) AS records, sum(r.repeat_count) AS repeats,
  median(r.noise) AS median_noise,
  percentile_cont(0.95) WITHIN GROUP (ORDER BY r.noise) AS p95_noise, max(r.noise) AS max_noise,
  count(*) FILTER (WHERE r.noise >= $noisy) AS noisy_records,
  avg(r.repeats_ns[1] / r.runtime_ns) AS first_repeat_over_mean,
  avg(r.min_ns / r.runtime_ns) AS fastest_repeat_over_mean
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
WHERE r.status = 'ok'
GROUP BY r.platform, g.workload_key
ORDER BY r.platform, g.workload_key
