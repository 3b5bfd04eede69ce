-- Parameters of GraphNet samples: tensors, elements and bytes.
-- parameter source = % : LIKE pattern for `samples.source`, or for `samples.framework` if that is NULL
SELECT
  s.path,
  s.parameter_count AS parameters,
  s.parameter_elements AS elements,
  sum(t.element_count * CASE
    WHEN t.dtype LIKE '%64' THEN 8
    WHEN t.dtype LIKE '%32' THEN 4
    WHEN t.dtype LIKE '%16' THEN 2
    ELSE 1
  END) AS bytes
FROM samples AS s
LEFT JOIN tensors AS t ON t.sample_id = s.sample_id AND t.kind = 'parameter'
WHERE s.variant_of IS NULL AND coalesce(s.source, s.framework) LIKE $source
GROUP BY s.path, s.parameter_count, s.parameter_elements
ORDER BY elements DESC, s.path
