-- Rejected lines of all sources, with the reason.
SELECT name AS source, line, part, reason, text
FROM rejects
ORDER BY name, line, part
