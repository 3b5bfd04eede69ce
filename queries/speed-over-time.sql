-- Progress of each search on one platform: best runtime so far by line of the source.
-- platform platform : platform, as in `records.platform`
-- plot: kind=step x=line y=best_so_far_ns by=workload_key facet=source y_title="best runtime so far"
SELECT s.name AS source, g.workload_key, r.line, r.measured_at, r.runtime_ns,
  min(r.runtime_ns) OVER search AS best_so_far_ns,
  count(*) OVER search AS measured_count, sum(CAST(r.all_cost_s AS DOUBLE)) OVER search AS measuring_s
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN sources AS s ON s.source_id = r.source_id
WHERE r.platform = $platform AND r.status <> 'unmeasured'
WINDOW search AS (PARTITION BY r.source_id, r.graph_id ORDER BY r.line ROWS UNBOUNDED PRECEDING)
ORDER BY source, r.line
