-- S(t), ES(t) and aggregate score of each GraphNet log.
-- parameter t = -5 : tolerance, from -10 to 5
-- parameter p = 0 : exponent that is added for speedups below 1
-- parameter b = 0.1 : speedup assigned to a failed run
-- parameter interpretation = default : rule for tolerated failures: `default` or `mismatch_extended`
SELECT
  s.name,
  count(*) AS runs,
  count(*) FILTER (WHERE r.upstream_status = 'correct' AND passes_at(r.passes, CAST($t AS BIGINT))) AS correct,
  speedup_score(r.speedup, r.passes, r.upstream_status,
    CAST($t AS BIGINT), CAST($p AS DOUBLE), CAST($b AS DOUBLE), $interpretation) AS s_t,
  error_aware_speedup_score(r.speedup, r.passes, r.upstream_status,
    CAST($t AS BIGINT), CAST($p AS DOUBLE), CAST($b AS DOUBLE), $interpretation) AS es_t,
  aggregate_speedup_score(r.speedup, r.passes, r.upstream_status,
    CAST($p AS DOUBLE), CAST($b AS DOUBLE), $interpretation) AS aggregate
FROM runs AS r
JOIN sources AS s ON s.source_id = r.source_id
GROUP BY s.name
ORDER BY s.name
