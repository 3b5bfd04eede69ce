-- Spread of TpuGraphs configurations: slowdown relative to the best, for the graphs with most rows.
-- parameter limit = 12 : number of graphs
-- needs records WHERE dataset = 'tpugraphs' AND status = 'ok' : records of TpuGraphs with runtimes
-- plot: kind=violin x=graph y=times_slower y_title="runtime relative to the best"
WITH most AS (
  SELECT graph_id, source_id, count(*) AS sample_count, min(runtime_ns) AS best_ns
  FROM records
  WHERE dataset = 'tpugraphs' AND status = 'ok'
  GROUP BY graph_id, source_id
  ORDER BY sample_count DESC, graph_id, source_id
  LIMIT $limit
)
SELECT f.id AS graph, r.collection, r.runtime_ns / m.best_ns AS times_slower
FROM most AS m
JOIN records AS r ON r.graph_id = m.graph_id AND r.source_id = m.source_id
JOIN sources AS f ON f.source_id = m.source_id
WHERE r.status = 'ok'
ORDER BY m.sample_count DESC, graph, times_slower
