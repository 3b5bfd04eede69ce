-- Speedups of correct GraphNet runs by compiler.
-- needs runs WHERE speedup IS NOT NULL : runs with speedups
-- plot: kind=violin x=compiler y=speedup by=compiler log=y
SELECT coalesce(compiler, 'unknown') AS compiler, speedup, model_path
FROM runs
WHERE speedup > 0 AND upstream_status = 'correct'
ORDER BY compiler, speedup
