-- Timeouts by platform: percentage of the records, and time spent on them.
-- needs records WHERE error_no IN (6, 7) : records with a timeout (TVM error 6 or 7)
-- plot: kind=bar x=platform y=timeout_percent by=platform y_title="records with a timeout"
SELECT platform, count(*) AS record_count,
  count(*) FILTER (WHERE error_no = 6) AS build_timeout_count,
  count(*) FILTER (WHERE error_no = 7) AS run_timeout_count,
  100.0 * count(*) FILTER (WHERE error_no IN (6, 7)) / count(*) AS timeout_percent,
  median(CAST(all_cost_s AS DOUBLE)) FILTER (WHERE error_no = 6) AS median_build_timeout_s,
  median(CAST(all_cost_s AS DOUBLE)) FILTER (WHERE error_no = 7) AS median_run_timeout_s,
  100.0 * sum(CAST(all_cost_s AS DOUBLE)) FILTER (WHERE error_no IN (6, 7)) / sum(CAST(all_cost_s AS DOUBLE)) AS percent_of_measuring
FROM records
GROUP BY platform
HAVING count(*) FILTER (WHERE error_no IN (6, 7)) > 0
ORDER BY timeout_percent DESC, platform
