-- Every ingested file with its lines, records and refused lines.
SELECT dataset, platform, name, compression, max(end_byte) AS size_bytes,
  sum(line_count) AS lines, sum(record_count) AS records, sum(reject_count) AS rejects,
  sum(verbatim_count) AS kept_verbatim, count(*) AS segments, max(ingested_at) AS last_ingested_at
FROM sources
GROUP BY dataset, platform, name, compression
ORDER BY dataset, platform, name
