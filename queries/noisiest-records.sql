-- Records with the noisiest repeats.
-- parameter limit = 10 : maximum number of records
SELECT r.platform, g.workload_key, r.noise, r.runtime_ns, r.min_ns, r.repeats_ns,
  s.name AS source, r.line
FROM records AS r
JOIN graphs AS g ON g.graph_id = r.graph_id
JOIN sources AS s ON s.source_id = r.source_id
WHERE r.status = 'ok' AND r.repeat_count > 1
ORDER BY r.noise DESC, source, r.line
LIMIT $limit
