-- Layout codes of TpuGraphs: median slowdown by slot group and code, for the graph with most rows.
-- parameter groups = 16 : number of slot groups
-- needs records WHERE dataset = 'tpugraphs' AND status = 'ok' AND collection LIKE 'layout:%' : records of layout collections of TpuGraphs with runtimes
-- plot: kind=heat x=group y=code value=times_slower
WITH most AS (
  SELECT graph_id, source_id, min(runtime_ns) AS best_ns
  FROM records
  WHERE dataset = 'tpugraphs' AND status = 'ok' AND collection LIKE 'layout:%'
  GROUP BY graph_id, source_id
  ORDER BY count(*) DESC, graph_id, source_id
  LIMIT 1
),
programs AS (
  SELECT r.runtime_ns / m.best_ns AS times_slower, sketch_params(c.sketch, c.params) AS codes
  FROM most AS m
  JOIN records AS r ON r.graph_id = m.graph_id AND r.source_id = m.source_id
  JOIN stored.configurations AS c ON c.config_id = r.config_id
  WHERE r.status = 'ok'
),
positions AS (
  SELECT times_slower, unnest(codes) AS code, unnest(range(0, CAST(cardinality(codes) AS BIGINT))) AS position FROM programs
),
layouts AS (
  SELECT position, code, count(*) AS config_count, median(times_slower) AS times_slower
  FROM positions
  GROUP BY position, code
),
-- Ratio of the slowest to the fastest layout of a group.
groups AS (
  SELECT position, max(times_slower) / min(times_slower) AS spread
  FROM layouts
  GROUP BY position
  ORDER BY spread DESC, position
  LIMIT $groups
)
SELECT CAST(l.position AS VARCHAR) AS group, l.code, l.times_slower, l.config_count, g.spread
FROM layouts AS l
JOIN groups AS g ON g.position = l.position
ORDER BY g.spread DESC, l.position, l.code
