-- Best runtime of each task by month, and the speedup over earlier months.
-- platform platform : platform, as in `records.platform`
-- needs records WHERE measured_at IS NOT NULL : records with a measurement time
-- plot: kind=step x=month y=best_so_far_ns by=workload_key y_title="best runtime so far"
SELECT g.workload_key, b.month, b.record_count, b.best_ns, b.best_so_far_ns,
  b.best_before_ns / b.best_so_far_ns AS speedup_of_month
FROM (
  SELECT graph_id, month, record_count, best_ns,
    min(best_ns) OVER (PARTITION BY graph_id ORDER BY month) AS best_so_far_ns,
    min(best_ns) OVER (PARTITION BY graph_id ORDER BY month ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS best_before_ns
  FROM (
    SELECT graph_id, date_trunc('month', measured_at) AS month, count(*) AS record_count, min(runtime_ns) AS best_ns
    FROM records
    WHERE platform = $platform AND status = 'ok' AND measured_at IS NOT NULL
    GROUP BY graph_id, date_trunc('month', measured_at)
  ) AS of_month
) AS b
JOIN graphs AS g ON g.graph_id = b.graph_id
ORDER BY g.workload_key, b.month
