-- miopen: gfx942: problems, solver timings
SELECT count(DISTINCT graph_id), count(runtime_ns) FROM records WHERE dataset = 'miopen' AND platform LIKE 'gfx942%';

-- miopen: gfx942: the solver that wins most often, and how often
SELECT json_text(c.steps, 'solver') AS solver, count(*) AS wins
FROM (
  SELECT config_id, row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns, line) AS position
  FROM records WHERE dataset = 'miopen' AND platform LIKE 'gfx942%') AS r
JOIN configurations AS c ON c.config_id = r.config_id
WHERE r.position = 1 GROUP BY solver ORDER BY wins DESC LIMIT 1;

-- miopen: gfx942: problems whose second best is within 5 % of the best
SELECT count(*) FROM (
  SELECT runtime_ns, min(runtime_ns) OVER (PARTITION BY graph_id) AS best_ns,
    row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns) AS position
  FROM records WHERE dataset = 'miopen' AND platform LIKE 'gfx942%')
WHERE position = 2 AND runtime_ns <= 1.05 * best_ns;

-- miopen: gfx942: best solver needs a workspace of more than 256 MiB
SELECT count(*) FROM (
  SELECT metric(metrics, 'workspace') AS workspace_bytes,
    row_number() OVER (PARTITION BY graph_id ORDER BY runtime_ns, line) AS position
  FROM records WHERE dataset = 'miopen' AND platform LIKE 'gfx942%')
WHERE position = 1 AND workspace_bytes > 256 * 1024 * 1024;

-- miopen: problems in both files, and the median of gfx900 best over gfx942 best
SELECT count(*), median(old_ns / new_ns)
FROM (
  SELECT min(runtime_ns) FILTER (WHERE platform LIKE 'gfx900%') AS old_ns,
    min(runtime_ns) FILTER (WHERE platform LIKE 'gfx942%') AS new_ns
  FROM records WHERE dataset = 'miopen' GROUP BY graph_id)
WHERE old_ns IS NOT NULL AND new_ns IS NOT NULL;
