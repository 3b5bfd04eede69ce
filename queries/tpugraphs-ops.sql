-- Operations of TpuGraphs graphs: number of nodes, node types and graphs.
-- parameter kind = layout : kind of the graphs: `layout` or `tile`
SELECT
  n.op,
  count(*) AS nodes,
  count(DISTINCT n.node_type_id) AS node_types,
  count(DISTINCT n.graph_id) AS graphs
FROM nodes AS n
JOIN graphs AS g ON g.graph_id = n.graph_id
WHERE g.kind = $kind
GROUP BY n.op
ORDER BY nodes DESC
