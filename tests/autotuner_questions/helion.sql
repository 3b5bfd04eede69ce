-- helion: rms_norm: best of the seeded and of the unseeded search (ms)
SELECT min(runtime_ns) FILTER (WHERE name LIKE '%\_seeded\_%') / 1e6,
  min(runtime_ns) FILTER (WHERE name LIKE '%\_unseeded\_%') / 1e6
FROM records JOIN sources USING (source_id) WHERE name LIKE 'autotuners/helion/rms_norm%';

-- helion: rms_norm: seconds until within 1 % of the seeded search's best (seeded, unseeded)
WITH trials AS (
  SELECT s.name, r.runtime_ns, CAST(json_text(r.attributes, 'timestamp') AS DOUBLE) AS seconds
  FROM records AS r JOIN sources AS s USING (source_id) WHERE s.name LIKE 'autotuners/helion/rms_norm%')
SELECT min(seconds) FROM trials
WHERE runtime_ns <= (SELECT 1.01 * min(runtime_ns) FROM trials WHERE name LIKE '%\_seeded\_%')
GROUP BY name ORDER BY name;

-- helion: rms_norm, seeded: failures by generation
SELECT json_text(r.attributes, 'generation') AS generation, count(*)
FROM records AS r JOIN sources AS s USING (source_id)
WHERE s.name = 'autotuners/helion/rms_norm_2048_16384_seeded_s2.csv' AND r.status = 'failed'
GROUP BY generation ORDER BY generation;

-- helion: rms_norm, seeded: best time by num_warps (ms)
SELECT json_text(c.steps, 'num_warps') AS warps, min(r.runtime_ns) / 1e6
FROM records AS r JOIN sources AS s USING (source_id) JOIN configurations AS c ON c.config_id = r.config_id
WHERE s.name = 'autotuners/helion/rms_norm_2048_16384_seeded_s2.csv' AND r.status = 'ok'
GROUP BY warps ORDER BY warps;

-- helion: all files: records, failures, sum of compile times (s)
SELECT count(*), count(*) FILTER (WHERE status = 'failed'), sum(metric(metrics, 'compile_time'))
FROM records WHERE dataset = 'helion';
