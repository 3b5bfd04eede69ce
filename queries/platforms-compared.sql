-- Comparison of two platforms: best runtime of each configuration on both, and Kendall's tau-b.
-- platform platform_a : first platform, as in `records.platform`
-- platform platform_b : second platform, as in `records.platform`
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=scatter x=runtime_a_ns y=runtime_b_ns annotate=kendall_tau_b x_title="runtime on platform a" y_title="runtime on platform b"
WITH best AS (
  SELECT graph_id, config_id, min(runtime_ns) FILTER (WHERE platform = $platform_a) AS runtime_a_ns,
    min(runtime_ns) FILTER (WHERE platform = $platform_b) AS runtime_b_ns
  FROM records
  WHERE platform IN ($platform_a, $platform_b) AND status = 'ok'
  GROUP BY graph_id, config_id
),
pairs AS (
  SELECT * FROM best WHERE runtime_a_ns IS NOT NULL AND runtime_b_ns IS NOT NULL
)
SELECT p.graph_id, p.config_id, p.runtime_a_ns, p.runtime_b_ns, a.kendall_tau_b
FROM pairs AS p
CROSS JOIN (SELECT kendall_tau_b(runtime_a_ns, runtime_b_ns) AS kendall_tau_b FROM pairs) AS a
ORDER BY p.runtime_a_ns, p.config_id
