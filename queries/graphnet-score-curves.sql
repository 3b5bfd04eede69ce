-- S(t) and ES(t): speedup score and error-aware speedup score of each GraphNet log by tolerance.
-- parameter p = 0 : exponent that is added for speedups below 1
-- parameter b = 0.1 : speedup assigned to a failed run
-- parameter interpretation = default : rule for tolerated failures: `default` or `mismatch_extended`
-- needs runs : GraphNet benchmark runs
-- plot: kind=line x=t y=score by=name facet=kind
WITH scores AS (
  SELECT f.name, at.t,
    speedup_score(r.speedup, r.passes, r.upstream_status,
      at.t, CAST($p AS DOUBLE), CAST($b AS DOUBLE), $interpretation) AS s_t,
    error_aware_speedup_score(r.speedup, r.passes, r.upstream_status,
      at.t, CAST($p AS DOUBLE), CAST($b AS DOUBLE), $interpretation) AS es_t
  FROM runs AS r
  JOIN sources AS f ON f.source_id = r.source_id
  CROSS JOIN (SELECT value AS t FROM generate_series(-10, 5)) AS at
  GROUP BY f.name, at.t
)
SELECT 'S(t)' AS kind, name, t, s_t AS score FROM scores
UNION ALL
SELECT 'ES(t)', name, t, es_t FROM scores
ORDER BY kind DESC, name, t
