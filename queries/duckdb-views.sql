-- Tables of a store in DuckDB, as tsql shows them. Requires DuckDB 1.4 or later with the extensions delta and json.
-- `tsql store views` prints this text with the path of the store:
--
--   SET VARIABLE tsql_store = '/data/.tsql';
--   SELECT platform, status, median(noise), max(repeats_ns[1]) FROM records GROUP BY ALL;
--
-- Macros unpack the packed columns: repeats and parameters of sketches. `tsql describe TABLE` describes the columns.

-- ---- bytes and numbers ----

-- Bytes of a BLOB as a list.
CREATE OR REPLACE MACRO tsql_bytes(packed) AS
  list_transform(regexp_extract_all(hex(packed), '..'), lambda pair: ('0x' || pair)::INTEGER);

-- Positions (from 1) of the last bytes of LEB128 numbers.
CREATE OR REPLACE MACRO tsql_ends(bytes) AS
  list_filter(range(1, len(bytes) + 1), lambda e: bytes[e] < 128);

-- The LEB128 number in bytes `first` to `last`.
CREATE OR REPLACE MACRO tsql_number(bytes, first, last) AS
  list_sum(list_transform(range(first, last + 1),
    lambda n: (bytes[n] & 127)::HUGEINT << (7 * (n - first))::HUGEINT))::BIGINT;

-- All LEB128 numbers of a list of bytes.
CREATE OR REPLACE MACRO tsql_numbers(bytes) AS
  CASE WHEN list_max(bytes) < 128 OR len(bytes) = 0 THEN bytes::BIGINT[] ELSE
    list_transform([tsql_ends(bytes)], lambda ends: list_transform(ends,
      lambda last, place: tsql_number(bytes, coalesce(ends[place - 1], 0) + 1, last)))[1]
  END;

-- `width` bits, starting at bit `first`. Bit 0 is the lowest bit of the first byte.
CREATE OR REPLACE MACRO tsql_bits(bytes, first, width) AS
  CASE WHEN width = 0 THEN 0::HUGEINT ELSE
    (list_sum(list_transform(range(first // 8, (first + width - 1) // 8 + 1),
      lambda b: bytes[b + 1]::HUGEINT << (8 * (b - first // 8))::HUGEINT)) >> (first % 8)::HUGEINT)
    & ((1::HUGEINT << width::HUGEINT) - 1)
  END;

-- Decodes zigzag numbers: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2.
CREATE OR REPLACE MACRO tsql_signed(folded) AS
  (CASE WHEN folded & 1 = 0 THEN folded >> 1 ELSE -(folded >> 1) - 1 END)::BIGINT;

-- `digits * 10^exponent`, correctly rounded.
CREATE OR REPLACE MACRO tsql_scaled(digits, exponent) AS
  (digits::VARCHAR || 'e' || exponent::VARCHAR)::DOUBLE;

-- ---- repeats: see crates/codecs/src/repeats.rs ----

-- The double of eight bytes.
CREATE OR REPLACE MACRO tsql_double(bits) AS
  CASE WHEN (bits >> 52) & 2047 = 0 THEN (bits & 4503599627370495)::DOUBLE * pow(2.0, -1074)
    ELSE ((bits & 4503599627370495) + 4503599627370496)::DOUBLE * pow(2.0, (((bits >> 52) & 2047) - 1075)::DOUBLE)
  END;

-- Seconds as nanoseconds, from their shortest decimal form.
CREATE OR REPLACE MACRO tsql_seconds_ns(seconds) AS
  (split_part(seconds::VARCHAR, 'e', 1) || 'e'
    || (coalesce(nullif(split_part(seconds::VARCHAR, 'e', 2), ''), '0')::INTEGER + 9))::DOUBLE;

-- Units of 10^exponent s in `mean_ns * count`, rounded.
CREATE OR REPLACE MACRO tsql_total(mean_ns, count, exponent) AS
  CASE WHEN exponent + 9 > 0
    THEN round(mean_ns * count::DOUBLE / ('1e' || (exponent + 9))::DOUBLE)
    ELSE round(mean_ns * count::DOUBLE * ('1e' || (-exponent - 9))::DOUBLE)
  END::BIGINT;

-- Parts of packed repeats: exponent of the unit, base, total, and differences from the base; or doubles, in seconds.
CREATE OR REPLACE MACRO tsql_parts(mean_ns, count, packed) AS
  list_transform([tsql_bytes(packed)], lambda bytes:
  list_transform([tsql_ends(bytes)[1]], lambda head:
  list_transform([tsql_signed(tsql_number(bytes, 1, head))], lambda said:
    CASE WHEN said = 1048576 THEN {
      'exponent': 0::BIGINT, 'base': 0::BIGINT, 'total': NULL::BIGINT, 'differences': NULL::BIGINT[],
      'doubles': list_transform(range(0, count), lambda k: tsql_double(tsql_bits(bytes, 8 * head + 64 * k, 64)))
    } ELSE
      list_transform([count - 1 + said % 2 * said % 2], lambda kept: {
        'exponent': (said - abs(said % 2)) // 2,
        'base': CASE WHEN said % 2 = 0
          THEN tsql_total(mean_ns, count, (said - abs(said % 2)) // 2) // count ELSE 0 END,
        'total': CASE WHEN said % 2 = 0 THEN tsql_total(mean_ns, count, (said - abs(said % 2)) // 2) END,
        'differences': list_transform(range(0, kept), lambda k: tsql_signed(tsql_bits(bytes,
          8 * head + k * least((len(bytes) - head) * 8 // kept, 64),
          least((len(bytes) - head) * 8 // kept, 64)))),
        'doubles': NULL::DOUBLE[]
      })[1]
    END)[1])[1])[1];

-- All differences; the last one follows from the total.
CREATE OR REPLACE MACRO tsql_differences(parts, count) AS
  CASE WHEN parts.total IS NULL THEN parts.differences ELSE list_append(parts.differences,
    (parts.total - parts.base * count - coalesce(list_sum(parts.differences), 0))::BIGINT) END;

CREATE OR REPLACE MACRO tsql_repeats(mean_ns, count, packed) AS
  CASE WHEN mean_ns IS NULL OR count IS NULL THEN NULL WHEN packed IS NULL THEN [mean_ns] ELSE
    list_transform([tsql_parts(mean_ns, count, packed)], lambda parts:
      CASE WHEN parts.doubles IS NOT NULL THEN list_transform(parts.doubles, lambda s: tsql_seconds_ns(s))
      ELSE list_transform(tsql_differences(parts, count),
        lambda difference: tsql_scaled(parts.base + difference, parts.exponent + 9)) END)[1]
  END;

-- Standard deviation over mean, of a list and of integer differences.
CREATE OR REPLACE MACRO tsql_noise_of_list(repeats) AS
  list_transform([list_sum(repeats) / len(repeats)], lambda mean:
    list_transform([list_sum(list_transform(repeats, lambda r: (r - mean) * (r - mean))) / len(repeats)],
      lambda variance: CASE WHEN variance = 0 THEN 0.0::DOUBLE ELSE sqrt(variance) / mean END)[1])[1];

CREATE OR REPLACE MACRO tsql_noise_of_differences(base, differences) AS
  list_transform([{
    'sum': list_sum(differences)::DOUBLE,
    'squares': list_sum(list_transform(differences, lambda d: d::HUGEINT * d::HUGEINT))::DOUBLE,
    'share': 1.0::DOUBLE / len(differences)::DOUBLE
  }], lambda s: sqrt(greatest((s.squares - s.sum * s.sum * s.share) * s.share, 0.0::DOUBLE))
    / (base::DOUBLE + s.sum * s.share))[1];

CREATE OR REPLACE MACRO tsql_noise(mean_ns, count, packed) AS
  CASE WHEN mean_ns IS NULL OR count IS NULL OR count < 2 THEN NULL ELSE
    list_transform([tsql_parts(mean_ns, count, packed)], lambda parts:
      CASE WHEN parts.doubles IS NOT NULL OR parts.base = 0
        THEN tsql_noise_of_list(tsql_repeats(mean_ns, count, packed))
        ELSE tsql_noise_of_differences(parts.base, tsql_differences(parts, count)) END)[1]
  END;

-- ---- steps: see crates/codecs/src/sketch.rs and crates/codecs/src/layout/mod.rs ----

-- `[3..4]` is `[3, 4, 5, 6]`: four numbers, starting at 3.
CREATE OR REPLACE MACRO tsql_run(run) AS
  '[' || array_to_string(range(regexp_extract(run, '(\d+)\.\.(\d+)', 1)::BIGINT,
    regexp_extract(run, '(\d+)\.\.(\d+)', 1)::BIGINT + regexp_extract(run, '(\d+)\.\.(\d+)', 2)::BIGINT), ', ') || ']';

CREATE OR REPLACE MACRO tsql_runs(steps) AS
  CASE WHEN NOT contains(steps, '..') THEN steps ELSE
    list_transform([{
      'between': regexp_split_to_array(steps, '\[\d+\.\.\d+\]'),
      'runs': regexp_extract_all(steps, '\[\d+\.\.\d+\]')
    }], lambda s: array_to_string(list_transform(s.between,
      lambda text, place: text || coalesce(tsql_run(s.runs[place]), '')), ''))[1]
  END;

-- A sketch with these numbers in its holes.
CREATE OR REPLACE MACRO tsql_filled(sketch, numbers) AS
  tsql_runs(array_to_string(list_transform(list_zip(string_split(sketch, '?'), numbers),
    lambda pair: pair[1] || coalesce(pair[2]::VARCHAR, '')), ''));

-- Codes of slot groups with `sizes` layouts each: bytes, or digits of one number.
CREATE OR REPLACE MACRO tsql_codes(sizes, digits, bytes) AS
  CASE WHEN digits THEN
    list_transform([list_reduce(list_transform(bytes, lambda byte, place: byte::UHUGEINT << (8 * (place - 1))::UHUGEINT),
      lambda a, b: a + b)], lambda number: list_transform(sizes, lambda size, place:
        ((number // list_reduce(list_concat([1::UHUGEINT], list_transform(sizes[1:place - 1], lambda s: s::UHUGEINT)),
          lambda a, b: a * b)) % size::UHUGEINT)::BIGINT))[1]
  WHEN list_max(sizes) > 256 THEN
    list_transform(sizes, lambda size, place: (bytes[2 * place - 1] + 256 * bytes[2 * place])::BIGINT)
  ELSE bytes::BIGINT[] END;

CREATE OR REPLACE MACRO tsql_layouts(sketch, bytes) AS
  list_transform([from_json(sketch,
    '{"group_of_slot": ["BIGINT"], "layouts": [["VARCHAR"]], "digits": "BOOLEAN"}')], lambda known:
    '[' || array_to_string(list_select(
      list_transform(list_zip(known.layouts, tsql_codes(
          list_transform(known.layouts, lambda texts: greatest(len(texts), 1)), coalesce(known.digits, false), bytes)),
        lambda pair: '"' || pair[1][pair[2] + 1] || '"'),
      list_transform(known.group_of_slot, lambda place: place + 1)), ', ') || ']')[1];

CREATE OR REPLACE MACRO tsql_steps(sketch, params) AS
  CASE WHEN params IS NULL THEN sketch
    WHEN starts_with(sketch, '{"group_of_slot":') THEN tsql_layouts(sketch, tsql_bytes(params))
    ELSE tsql_filled(sketch, tsql_numbers(tsql_bytes(params))) END;

-- ---- lists that older files store as text ----

CREATE OR REPLACE MACRO tsql_flags(list, text) AS
  coalesce(list, list_filter(string_split(text, ','), lambda word: word <> ''));

CREATE OR REPLACE MACRO tsql_disturbed(list, text) AS
  coalesce(list, CASE
    WHEN regexp_full_match(text, '\[(\[[0-9.e+-]+, ([0-9.e+-]+|null), ([0-9-]+|null)\](, )?)*\]') THEN
      list_transform(from_json(text, '[["DOUBLE"]]'), lambda repeat: {
        'wall_ns': repeat[1], 'cpu_ns': repeat[2], 'involuntary_switches': repeat[3]::BIGINT }) END);

-- ---- labels of sources ----

-- Lines `key=value`, sorted by key. If a key occurs several times, the last line counts.
CREATE OR REPLACE MACRO tsql_merged_labels(text) AS
  list_transform([string_split(text, chr(10))], lambda lines: array_to_string(list_transform(list_sort(list_filter(
    list_transform(lines, lambda line, place: {
      'key': split_part(line, '=', 1), 'line': line,
      'later': list_transform(lines[place + 1:], lambda other: split_part(other, '=', 1)) }),
    lambda label: NOT list_contains(label.later, label.key))),
    lambda label: label.line), chr(10)))[1];

-- ---- the tables ----

CREATE OR REPLACE VIEW records AS
SELECT dataset, platform, collection, split, graph_id, config_id, runtime_ns,
  list_min(tsql_repeats(runtime_ns, repeat_count, repeats)) AS min_ns,
  tsql_noise(runtime_ns, repeat_count, repeats) AS noise,
  repeat_count, error_no, error_message,
  CASE WHEN error_no <> 0 THEN 'failed' WHEN runtime_ns IS NULL THEN 'unmeasured' ELSE 'ok' END AS status,
  baseline_ns, tsql_scaled(all_cost_digits, all_cost_exponent) AS all_cost_s,
  to_timestamp(measured_at_s) AS measured_at,
  tsql_repeats(runtime_ns, repeat_count, repeats) AS repeats_ns,
  environment_id, source_id, line, cpu_ns,
  tsql_repeats(cpu_ns, repeat_count, cpu_repeats) AS cpu_repeats_ns,
  tsql_disturbed(disturbed_list, disturbed_repeats) AS disturbed_repeats,
  tsql_flags(flag_list, flags) AS flags
FROM delta_scan(getvariable('tsql_store') || '/records');

CREATE OR REPLACE VIEW configurations AS
SELECT graph_id, config_id, tsql_steps(sketch, params) AS steps, program, build
FROM delta_scan(getvariable('tsql_store') || '/configurations');

CREATE OR REPLACE VIEW graphs AS
SELECT * FROM delta_scan(getvariable('tsql_store') || '/graphs');

CREATE OR REPLACE VIEW environments AS
SELECT environment_id, dataset, target, split_part(target, ' ', 1) AS target_kind,
  * EXCLUDE (environment_id, dataset, target)
FROM delta_scan(getvariable('tsql_store') || '/environments');

CREATE OR REPLACE VIEW source_segments AS
SELECT *, CASE WHEN dataset = 'tpugraphs' THEN
  coalesce(collection || ':', '') || regexp_replace(name, '^.*/|[.]npz$', '', 'g') END AS id
FROM delta_scan(getvariable('tsql_store') || '/sources');

CREATE OR REPLACE VIEW sources AS
SELECT source_id, max(dataset) AS dataset, max(platform) AS platform, max(name) AS name,
  count(*) AS segments, max(end_byte) AS size_bytes,
  sum(line_count)::BIGINT AS line_count, sum(record_count)::BIGINT AS record_count,
  sum(other_count)::BIGINT AS other_count, sum(reject_count)::BIGINT AS reject_count,
  sum(verbatim_count)::BIGINT AS verbatim_count,
  min(ingested_at) AS first_ingested_at, max(ingested_at) AS ingested_at,
  tsql_merged_labels(string_agg(labels, chr(10) ORDER BY segment)) AS labels,
  max(id) AS id, max(collection) AS collection, max(split) AS split, max(network) AS network,
  max(graph_id) AS graph_id, max(sample_id) AS sample_id, max(same_as) AS same_as,
  max(first_platform) AS first_platform, last(path ORDER BY segment) AS path,
  last(compression ORDER BY segment) AS compression, last(content_hash ORDER BY segment) AS content_hash,
  last(tsql_version ORDER BY segment) AS tsql_version
FROM source_segments
GROUP BY source_id;

CREATE OR REPLACE VIEW files AS
SELECT * FROM sources;
