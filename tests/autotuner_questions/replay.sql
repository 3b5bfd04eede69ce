-- replay: kernel_tuner/convolution/RTX_3090.json.gz
WITH trials AS (
  SELECT r.config_id, r.runtime_ns / 1e6 AS t, min(r.runtime_ns / 1e6) OVER () AS best
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/kernel_tuner/convolution/RTX_3090.json.gz')
SELECT count(DISTINCT config_id) AS size, count(t) AS valid, min(t) AS best,
  count(*) FILTER (WHERE t <= 1.05 * best) AS within_5_percent, draws_to_reach(t, 5) AS draws_for_95_percent,
  expected_best(t, 1) AS expected_best_1, expected_best(t, 10) AS expected_best_10, expected_best(t, 100) AS expected_best_100
FROM trials;

-- replay: kernel_tuner/convolution_milo/A100.json.gz
WITH trials AS (
  SELECT r.config_id, r.runtime_ns / 1e6 AS t, min(r.runtime_ns / 1e6) OVER () AS best
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/kernel_tuner/convolution_milo/A100.json.gz')
SELECT count(DISTINCT config_id) AS size, count(t) AS valid, min(t) AS best,
  count(*) FILTER (WHERE t <= 1.05 * best) AS within_5_percent, draws_to_reach(t, 5) AS draws_for_95_percent,
  expected_best(t, 1) AS expected_best_1, expected_best(t, 10) AS expected_best_10, expected_best(t, 100) AS expected_best_100
FROM trials;

-- replay: kernel_tuner/pnpoly/RTX_3090.json.gz
WITH trials AS (
  SELECT r.config_id, r.runtime_ns / 1e6 AS t, min(r.runtime_ns / 1e6) OVER () AS best
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/kernel_tuner/pnpoly/RTX_3090.json.gz')
SELECT count(DISTINCT config_id) AS size, count(t) AS valid, min(t) AS best,
  count(*) FILTER (WHERE t <= 1.05 * best) AS within_5_percent, draws_to_reach(t, 5) AS draws_for_95_percent,
  expected_best(t, 1) AS expected_best_1, expected_best(t, 10) AS expected_best_10, expected_best(t, 100) AS expected_best_100
FROM trials;

-- replay: ktt/KTConvolutionOutput_3090.json.gz
WITH trials AS (
  SELECT r.config_id, r.runtime_ns / 1e3 AS t, min(r.runtime_ns / 1e3) OVER () AS best
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/ktt/KTConvolutionOutput_3090.json.gz')
SELECT count(DISTINCT config_id) AS size, count(t) AS valid, min(t) AS best,
  count(*) FILTER (WHERE t <= 1.05 * best) AS within_5_percent, draws_to_reach(t, 5) AS draws_for_95_percent,
  expected_best(t, 1) AS expected_best_1, expected_best(t, 10) AS expected_best_10, expected_best(t, 100) AS expected_best_100
FROM trials;

-- replay: ktt/coulomb_2080_full_search_space.json.gz
WITH trials AS (
  SELECT r.config_id, r.runtime_ns / 1e3 AS t, min(r.runtime_ns / 1e3) OVER () AS best
  FROM records AS r JOIN sources AS s USING (source_id)
  WHERE s.name = 'autotuners/ktt/coulomb_2080_full_search_space.json.gz')
SELECT count(DISTINCT config_id) AS size, count(t) AS valid, min(t) AS best,
  count(*) FILTER (WHERE t <= 1.05 * best) AS within_5_percent, draws_to_reach(t, 5) AS draws_for_95_percent,
  expected_best(t, 1) AS expected_best_1, expected_best(t, 10) AS expected_best_10, expected_best(t, 100) AS expected_best_100
FROM trials;
