-- Duplicate GraphNet samples: groups with the same hash at one level of equality.
-- parameter level = shape_free : level of equality: `model` (model.py), `upstream` (graph_hash.txt), `graph` (without names), `shape_free` (without names and numbers) or `op_sequence`
SELECT hash, count(*) AS samples, min(path) AS first_path, max(path) AS last_path
FROM (
  SELECT
    s.path,
    CASE $level
      WHEN 'model' THEN s.model_hash
      WHEN 'upstream' THEN s.upstream_hash
      WHEN 'graph' THEN g.workload_key
      WHEN 'op_sequence' THEN g.op_sequence_hash
      ELSE g.shape_free_hash
    END AS hash
  FROM samples AS s
  LEFT JOIN graphs AS g ON g.graph_id = s.graph_id
  WHERE s.variant_of IS NULL
)
WHERE hash IS NOT NULL
GROUP BY hash
HAVING count(*) > 1
ORDER BY samples DESC, first_path
