-- Operations of GraphNet samples by source: number of nodes and samples.
SELECT
  coalesce(s.source, s.framework) AS source,
  n.op,
  count(*) AS nodes,
  count(DISTINCT s.sample_id) AS samples
FROM samples AS s
JOIN nodes AS n ON n.graph_id = s.graph_id
WHERE s.variant_of IS NULL
GROUP BY coalesce(s.source, s.framework), n.op
ORDER BY source, nodes DESC, n.op
