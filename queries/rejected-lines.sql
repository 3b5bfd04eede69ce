-- The lines of sources that were refused, and why.
SELECT name AS source, line, part, reason, text
FROM rejects
ORDER BY name, line, part
