-- What each collection of TpuGraphs holds: graphs, samples, how many of these repeat a configuration.
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
