-- Best so far: fraction of the best speed of the search by trial, median and quartiles by platform.
-- parameter trials = 20 : number of trials; searches with fewer trials are ignored
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=step x=trial y=median_fraction low=low_fraction high=high_fraction by=platform y_title="fraction of the best speed"
WITH trials AS (
  SELECT platform, source_id, graph_id, trial,
    min(runtime_ns) OVER (PARTITION BY source_id, graph_id ORDER BY trial ROWS UNBOUNDED PRECEDING) AS best_so_far_ns
  FROM (
    SELECT platform, source_id, graph_id, runtime_ns,
      CAST(row_number() OVER (PARTITION BY source_id, graph_id ORDER BY line) AS BIGINT) AS trial
    FROM records
    WHERE status IN ('ok', 'failed')
  ) AS numbered
  WHERE trial <= $trials
),
searches AS (
  SELECT source_id, graph_id, count(*) AS trial_count, min(runtime_ns) AS best_ns
  FROM records
  WHERE status IN ('ok', 'failed')
  GROUP BY source_id, graph_id
),
-- The fraction is 0 before the first successful trial.
fractions AS (
  SELECT t.platform, t.trial, coalesce(s.best_ns / t.best_so_far_ns, 0) AS fraction
  FROM trials AS t
  JOIN searches AS s ON s.source_id = t.source_id AND s.graph_id = t.graph_id
  WHERE s.trial_count >= $trials AND s.best_ns IS NOT NULL
)
SELECT platform, trial, count(*) AS search_count, percentile_cont(0.25) WITHIN GROUP (ORDER BY fraction) AS low_fraction,
  median(fraction) AS median_fraction, percentile_cont(0.75) WITHIN GROUP (ORDER BY fraction) AS high_fraction
FROM fractions
GROUP BY platform, trial
ORDER BY platform, trial
