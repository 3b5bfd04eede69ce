-- Kaggle score of predictions for TpuGraphs by collection, and over all five if each has a score.
-- parameter split = valid : dataset split: `train` or `valid` (the release withholds the runtimes of `test`)
-- file predictions : CSV or Parquet file with the columns id, sample (from 0) and score (lower is faster)
WITH rows AS (
  SELECT
    r.collection,
    s.id,
    CASE r.collection
      WHEN 'tile:xla' THEN tile_score(r.runtime_ns / r.baseline_ns, CAST(p.score AS DOUBLE), r.line)
      ELSE layout_score(r.runtime_ns, CAST(p.score AS DOUBLE))
    END AS score
  FROM records AS r
  JOIN sources AS s ON s.source_id = r.source_id
  LEFT JOIN predictions AS p ON p.id = s.id AND p.sample = r.line - 1
  WHERE r.split = $split
  GROUP BY r.collection, s.id
  HAVING count(p.score) > 0
)
SELECT collection, avg(score) AS score, count(score) AS rows FROM rows GROUP BY collection
UNION ALL
SELECT 'all', CASE WHEN count(score) = 5 THEN avg(score) END, sum(rows)
FROM (SELECT collection, avg(score) AS score, count(score) AS rows FROM rows GROUP BY collection)
ORDER BY collection
