-- Programs whose time changed in the last measured days of their platform. `tsql trend` also orders by commit or source.
-- parameter last = 10 : number of days
-- needs records WHERE measured_at IS NOT NULL : records with a measurement time
-- plot: kind=bar x=day y=change_percent by=platform
WITH daily AS (
  SELECT graph_id, config_id, platform, CAST(measured_at AS DATE) AS day, median(runtime_ns) AS time_ns
  FROM records
  WHERE status = 'ok' AND measured_at IS NOT NULL
  GROUP BY graph_id, config_id, platform, CAST(measured_at AS DATE)
), newest AS (
  SELECT platform, day, row_number() OVER (PARTITION BY platform ORDER BY day DESC) AS age
  FROM (SELECT DISTINCT platform, day FROM daily) AS measured
), programs AS (
  SELECT graph_id, config_id, platform, array_agg(day ORDER BY day) AS days, change_points(time_ns ORDER BY day) AS points
  FROM daily
  GROUP BY graph_id, config_id, platform
  HAVING count(*) >= 6
), changes AS (
  SELECT graph_id, config_id, platform, days, unnest(points) AS point
  FROM programs
)
SELECT c.platform, n.day, 100 * c.point.change AS change_percent, c.point.before AS before_ns, c.point.after AS after_ns,
  c.point.p AS p, g.workload_key, s.steps
FROM changes AS c
JOIN newest AS n ON n.platform = c.platform AND n.day = c.days[c.point.position]
JOIN graphs AS g ON g.graph_id = c.graph_id
JOIN configurations AS s ON s.graph_id = c.graph_id AND s.config_id = c.config_id
WHERE n.age <= $last
ORDER BY n.day DESC, abs(c.point.change) DESC, g.workload_key, s.steps
