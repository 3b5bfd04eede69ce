-- Configurations that became slower between two sources, by default the last two of a platform.
-- parameter before = previous : earlier source, as in `sources.name`, or `previous`
-- parameter after = last : later source, as in `sources.name`, or `last`
-- parameter percent = 5 : minimum slowdown, in percent
-- parameter limit = 50 : maximum number of configurations
-- needs records WHERE status = 'ok' : records with status `ok`
WITH file AS (
  SELECT platform, arrow_cast(name, 'Utf8') AS name, ingested_at
  FROM sources
  WHERE record_count > 0
),
last_file AS (
  SELECT max_by(name, ingested_at) AS name, max_by(platform, ingested_at) AS platform
  FROM file
  WHERE $after = 'last' OR name = $after
),
named AS (
  SELECT max(l.name) AS after_name,
    CASE WHEN $before = 'previous' THEN max_by(f.name, f.ingested_at) ELSE $before END AS before_name
  FROM last_file AS l
  LEFT JOIN file AS f ON f.platform = l.platform AND f.name <> l.name
),
timed AS (
  SELECT r.platform, r.graph_id, r.config_id,
    min(r.runtime_ns) FILTER (WHERE s.name = n.before_name) AS before_ns,
    min(r.runtime_ns) FILTER (WHERE s.name = n.after_name) AS after_ns
  FROM records AS r
  JOIN sources AS s ON s.source_id = r.source_id
  JOIN named AS n ON s.name = n.before_name OR s.name = n.after_name
  WHERE r.status = 'ok'
  GROUP BY r.platform, r.graph_id, r.config_id
)
SELECT t.platform, g.workload_key, t.config_id, t.before_ns, t.after_ns, 100 * (t.after_ns / t.before_ns - 1) AS slower_percent,
  n.before_name, n.after_name
FROM timed AS t
JOIN graphs AS g ON g.graph_id = t.graph_id
CROSS JOIN named AS n
WHERE t.after_ns > t.before_ns * (1 + $percent / 100.0)
ORDER BY slower_percent DESC, t.platform, g.workload_key, t.config_id
LIMIT $limit
