-- TpuGraphs collections by dataset split: files, graphs, rows, configurations and rows with a runtime.
-- plot: kind=bar x=collection y=samples by=split
SELECT
  collection,
  split,
  count(DISTINCT source_id) AS files,
  count(DISTINCT graph_id) AS graphs,
  count(*) AS samples,
  count(DISTINCT config_id) AS configurations,
  count(runtime_ns) AS labelled
FROM records
WHERE dataset = 'tpugraphs'
GROUP BY collection, split
ORDER BY collection, split
