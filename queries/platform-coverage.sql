-- Coverage of datasets by platform: graphs, configurations, and configurations of no other platform.
-- needs records : records
-- plot: kind=bar x=platform y=program_percent by=dataset y_title="measured configurations"
WITH measured AS (
  SELECT dataset, platform, count(DISTINCT graph_id) AS graph_count, count(DISTINCT config_id) AS program_count,
    row_number() OVER (ORDER BY dataset, platform) AS number, dense_rank() OVER (ORDER BY dataset) AS dataset_number
  FROM records
  WHERE status = 'ok'
  GROUP BY dataset, platform
),
total AS (
  SELECT dataset, count(DISTINCT graph_id) AS graph_count, count(DISTINCT config_id) AS program_count
  FROM records
  WHERE status = 'ok'
  GROUP BY dataset
),
-- Configurations of a single platform. Comparing numbers is faster than comparing names.
own AS (
  SELECT number, count(*) AS own_program_count
  FROM (
    SELECT m.dataset_number, r.config_id, min(m.number) AS number, max(m.number) AS last
    FROM records AS r
    JOIN measured AS m ON m.dataset = r.dataset AND m.platform = r.platform
    WHERE r.status = 'ok'
    GROUP BY m.dataset_number, r.config_id
  ) AS programs
  WHERE number = last
  GROUP BY number
)
SELECT m.dataset, m.platform, m.graph_count, 100.0 * m.graph_count / t.graph_count AS graph_percent, m.program_count,
  100.0 * m.program_count / t.program_count AS program_percent, coalesce(o.own_program_count, 0) AS own_program_count
FROM measured AS m
JOIN total AS t ON t.dataset = m.dataset
LEFT JOIN own AS o ON o.number = m.number
ORDER BY m.dataset, m.platform
