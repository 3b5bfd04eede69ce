-- Rank correlation of two platforms by task: Kendall's tau-b, Spearman's rho, slowdown of a's best on b.
-- platform platform_a : first platform, as in `records.platform`
-- platform platform_b : second platform, as in `records.platform`
-- parameter min_programs = 3 : minimum number of configurations that both platforms measured
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=histogram x=kendall_tau_b y_title=tasks
WITH best AS (
  SELECT graph_id, config_id, min(runtime_ns) FILTER (WHERE platform = $platform_a) AS a_ns,
    min(runtime_ns) FILTER (WHERE platform = $platform_b) AS b_ns
  FROM records
  WHERE platform IN ($platform_a, $platform_b) AND status = 'ok'
  GROUP BY graph_id, config_id
),
-- Equal runtimes get the mean of their ranks.
ranked AS (
  SELECT graph_id, a_ns, b_ns,
    rank() OVER (PARTITION BY graph_id ORDER BY a_ns) + (count(*) OVER (PARTITION BY graph_id, a_ns) - 1) / 2.0 AS a_place,
    rank() OVER (PARTITION BY graph_id ORDER BY b_ns) + (count(*) OVER (PARTITION BY graph_id, b_ns) - 1) / 2.0 AS b_place
  FROM best
  WHERE a_ns IS NOT NULL AND b_ns IS NOT NULL
)
SELECT g.workload_key, count(*) AS program_count, kendall_tau_b(r.a_ns, r.b_ns) AS kendall_tau_b,
  corr(r.a_place, r.b_place) AS spearman_rho, min_by(r.b_ns, r.a_ns) / min(r.b_ns) AS best_of_a_on_b
FROM ranked AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
GROUP BY g.workload_key
HAVING count(*) >= $min_programs
ORDER BY kendall_tau_b, g.workload_key
