-- Failed records by platform and kind of failure, as number and percentage.
-- plot: kind=bar x=failure y=percent_of_platform by=platform y_title="% of all records"
SELECT f.platform, f.error_no,
  CASE f.error_no
    WHEN 1 THEN 'instantiation' WHEN 2 THEN 'compile host' WHEN 3 THEN 'compile device'
    WHEN 4 THEN 'runtime' WHEN 5 THEN 'wrong answer' WHEN 6 THEN 'build timeout'
    WHEN 7 THEN 'run timeout' ELSE 'unknown' END AS failure,
  f.records, 100.0 * f.records / a.records AS percent_of_platform, f.graphs,
  f.median_all_cost_s, f.max_all_cost_s
FROM (
  SELECT platform, error_no, count(*) AS records, count(DISTINCT graph_id) AS graphs,
    median(all_cost_s) AS median_all_cost_s, max(all_cost_s) AS max_all_cost_s
  FROM records
  WHERE error_no <> 0
  GROUP BY platform, error_no
) AS f
JOIN (SELECT platform, count(*) AS records FROM records GROUP BY platform) AS a
  ON a.platform = f.platform
ORDER BY f.platform, f.records DESC, f.error_no
