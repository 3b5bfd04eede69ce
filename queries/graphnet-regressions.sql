-- GraphNet samples that are slower in one log than in a reference log, with the combined noise.
-- parameter run = %run% : LIKE pattern for `sources.name` of the log
-- parameter reference = %reference% : LIKE pattern for `sources.name` of the reference log
-- parameter threshold = 0.05 : minimum slowdown, as a fraction
WITH timed AS (
  SELECT
    s.name,
    r.sample,
    r.line,
    coalesce(r.compiled_performance, r.eager_performance) AS performance
  FROM runs AS r
  JOIN sources AS s ON s.source_id = r.source_id
),
times AS (
  SELECT
    name,
    sample,
    avg(CAST(json_text(json_text(performance, 'e2e'), 'mean') AS DOUBLE)) AS mean_ms,
    max(CAST(json_text(json_text(performance, 'e2e'), 'std') AS DOUBLE)
      / CAST(json_text(json_text(performance, 'e2e'), 'mean') AS DOUBLE)) AS noise
  FROM timed
  GROUP BY name, sample
)
SELECT
  run.sample,
  reference.mean_ms AS reference_ms,
  run.mean_ms AS run_ms,
  run.mean_ms / reference.mean_ms - 1 AS slower,
  sqrt(power(run.noise, 2) + power(reference.noise, 2)) AS noise,
  run.mean_ms / reference.mean_ms - 1 > 2 * sqrt(power(run.noise, 2) + power(reference.noise, 2)) AS exceeds_noise
FROM times AS run
JOIN times AS reference ON reference.sample = run.sample
WHERE run.name LIKE $run AND reference.name LIKE $reference AND run.name <> reference.name
  AND run.mean_ms / reference.mean_ms - 1 > CAST($threshold AS DOUBLE)
ORDER BY slower DESC
