-- Convergence of searches: trials until a task is within 20, 10, 5 and 1 percent of the best of its file.
-- platform platform : platform, as in `records.platform`
-- parameter min_trials = 20 : minimum number of trials of a task in a file
-- needs records WHERE status = 'ok' : records with status `ok`
-- plot: kind=ecdf x=trials_to_5_percent x_title="trials to within 5 % of the best" y_title="fraction of searches"
WITH trials AS (
  SELECT source_id, graph_id, runtime_ns,
    row_number() OVER (PARTITION BY source_id, graph_id ORDER BY line) AS trial,
    min(runtime_ns) OVER (PARTITION BY source_id, graph_id) AS best_ns
  FROM records
  WHERE platform = $platform AND status IN ('ok', 'failed')
)
SELECT s.name AS source, g.workload_key, max(t.trial) AS trial_count, max(t.best_ns) AS best_ns,
  min(t.trial) FILTER (WHERE t.runtime_ns <= t.best_ns * 1.2) AS trials_to_20_percent,
  min(t.trial) FILTER (WHERE t.runtime_ns <= t.best_ns * 1.1) AS trials_to_10_percent,
  min(t.trial) FILTER (WHERE t.runtime_ns <= t.best_ns * 1.05) AS trials_to_5_percent,
  min(t.trial) FILTER (WHERE t.runtime_ns <= t.best_ns * 1.01) AS trials_to_1_percent,
  min(t.trial) FILTER (WHERE t.runtime_ns = t.best_ns) AS trials_to_best
FROM trials AS t
JOIN graphs AS g ON g.graph_id = t.graph_id
JOIN sources AS s ON s.source_id = t.source_id
GROUP BY s.name, g.workload_key
HAVING max(t.trial) >= $min_trials AND max(t.best_ns) IS NOT NULL
ORDER BY trials_to_5_percent DESC, source, g.workload_key
