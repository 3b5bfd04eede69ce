-- Noise floors of each platform: scatter of one run, from pairs of repeated records of one configuration.
-- needs noise_floors() : platform with 20 pairs of repeated records
-- plot: kind=bar x=platform y=sigma_percent by=platform
SELECT platform, duration_from_ns, duration_to_ns, pairs AS pair_count,
  100 * sigma AS sigma_percent, degrees_of_freedom,
  day_pairs AS day_pair_count, 100 * day_sigma AS day_sigma_percent,
  CAST(newest_pair_at AS DATE) AS newest_pair
FROM noise_floors()
ORDER BY platform, duration_from_ns NULLS LAST
