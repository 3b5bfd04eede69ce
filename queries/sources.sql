-- Ingested sources with their lines, records and rejected lines.
SELECT dataset, platform, name, compression, size_bytes, line_count AS lines, record_count AS records,
  reject_count AS rejects, verbatim_count AS verbatim_records, segments, ingested_at AS last_ingested_at
FROM sources
ORDER BY dataset, platform, name
