-- Best so far: which share of the best speed of its search a task had after so many trials, by platform: median and middle half.
-- parameter trials = 20 : how many trials are looked at; searches with fewer are left out
-- needs records WHERE status = 'ok' : records that were measured
-- plot: kind=step x=trial y=median_share low=low_share high=high_share by=platform
WITH trials AS (
  SELECT platform, CAST(row_number() OVER search AS BIGINT) AS trial, count(*) OVER whole AS trial_count,
    min(runtime_ns) OVER search AS best_so_far_ns, min(runtime_ns) OVER whole AS best_ns
  FROM records
  WHERE status IN ('ok', 'failed')
  WINDOW whole AS (PARTITION BY source_id, graph_id),
    search AS (PARTITION BY source_id, graph_id ORDER BY line ROWS UNBOUNDED PRECEDING)
),
-- Before anything worked there was nothing of the speed.
shares AS (
  SELECT platform, trial, coalesce(best_ns / best_so_far_ns, 0) AS share
  FROM trials
  WHERE trial <= $trials AND trial_count >= $trials AND best_ns IS NOT NULL
)
SELECT platform, trial, count(*) AS search_count, percentile_cont(0.25) WITHIN GROUP (ORDER BY share) AS low_share,
  median(share) AS median_share, percentile_cont(0.75) WITHIN GROUP (ORDER BY share) AS high_share
FROM shares
GROUP BY platform, trial
ORDER BY platform, trial
