-- GraphNet samples with one operation followed by another, and the number of these pairs.
-- parameter first = conv2d : operation whose result is consumed
-- parameter second = batch_norm : operation that consumes the result
SELECT s.path, count(*) AS pairs
FROM edges AS e
JOIN nodes AS a ON a.graph_id = e.graph_id AND a.node = e.operand
JOIN nodes AS b ON b.graph_id = e.graph_id AND b.node = e.user
JOIN samples AS s ON s.graph_id = e.graph_id
WHERE a.op = $first AND b.op = $second AND s.variant_of IS NULL
GROUP BY s.path
ORDER BY pairs DESC, s.path
