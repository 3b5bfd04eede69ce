-- What each platform has measured of all that the store has of a dataset: graphs, programs, and those that no other platform has.
-- needs records : records
-- plot: kind=bar x=platform y=program_percent by=dataset
WITH measured AS (
  SELECT DISTINCT dataset, platform, graph_id, config_id
  FROM records
  WHERE status = 'ok'
),
shared AS (
  SELECT dataset, graph_id, config_id, count(*) AS platform_count, min(platform) AS platform
  FROM measured
  GROUP BY dataset, graph_id, config_id
),
total AS (
  SELECT dataset, count(DISTINCT graph_id) AS graph_count, count(DISTINCT config_id) AS program_count
  FROM measured
  GROUP BY dataset
),
own AS (
  SELECT dataset, platform, count(*) AS own_program_count
  FROM shared
  WHERE platform_count = 1
  GROUP BY dataset, platform
)
SELECT m.dataset, m.platform, count(DISTINCT m.graph_id) AS graph_count,
  100.0 * count(DISTINCT m.graph_id) / t.graph_count AS graph_percent,
  count(DISTINCT m.config_id) AS program_count,
  100.0 * count(DISTINCT m.config_id) / t.program_count AS program_percent,
  coalesce(o.own_program_count, 0) AS own_program_count
FROM measured AS m
JOIN total AS t ON t.dataset = m.dataset
LEFT JOIN own AS o ON o.dataset = m.dataset AND o.platform = m.platform
GROUP BY m.dataset, m.platform, t.graph_count, t.program_count, o.own_program_count
ORDER BY m.dataset, m.platform
