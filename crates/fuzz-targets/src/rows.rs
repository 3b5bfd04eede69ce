//! Properties of the rows that line readers return.

use std::collections::HashSet;

use tsql_codecs::repeats;
use tsql_codecs::steps::{StepsHasher, StepsNumbers, StepsWriter};
use tsql_formats::rows::{Kernel, LogRow, LogRows, Measurement, RecordDetails};
use tsql_formats::{Dialect, StoredRecord};

/// Each line is a record or is stored beside the records, and packed columns can be unpacked.
pub(super) fn check_rows(rows: &LogRows, bytes: &[u8]) {
    let count = bytes.split_inclusive(|&byte| byte == b'\n').count();
    assert_eq!(rows.line_count, count as u64);
    assert_eq!(rows.records.len() + rows.others.len(), count);
    let (mut filler, mut hasher, mut numbers) = (
        StepsWriter::default(),
        StepsHasher::default(),
        StepsNumbers::default(),
    );
    for row in &rows.records {
        let (sketch, params) = (sketch(rows, row), rows.params(row));
        assert!(filler.fill(sketch, params, &mut Vec::new()));
        assert!(hasher.hash(sketch, params).is_some());
        if let Some(params) = params {
            assert!(numbers.list(sketch, params).is_some());
        }
        if let Some(runtime_ns) = row.runtime_ns {
            let packed = rows.repeats(row);
            assert!(repeats::is_mean(runtime_ns, row.repeat_count, packed));
        }
    }
}

/// Returns the sketch of a record.
fn sketch<'a>(rows: &'a LogRows, row: &LogRow) -> &'a str {
    let text = &rows.sketches[row.sketch as usize].text;
    std::str::from_utf8(text).expect("sketches are text")
}

/// The columns of a record whose text is not stored rebuild its line.
pub(super) fn check_rebuilt_lines(dialect: Dialect, rows: &LogRows, bytes: &[u8], crlf: bool) {
    let lines: Vec<&[u8]> = bytes.split(|&byte| byte == b'\n').collect();
    let verbatim: HashSet<usize> = rows.verbatim.iter().map(|(index, _)| *index).collect();
    let mut writer = dialect.record_writer();
    let mut filler = StepsWriter::default();
    let (no_kernel, no_details) = (Kernel::default(), RecordDetails::default());
    for (index, row) in rows.records.iter().enumerate() {
        if verbatim.contains(&index) {
            continue;
        }
        let (mut steps, mut line) = (Vec::new(), Vec::new());
        assert!(filler.fill(sketch(rows, row), rows.params(row), &mut steps));
        let record = StoredRecord {
            graph_id: row.graph.into(),
            environment_id: row.environment.into(),
            workload_key: &rows.graphs[row.graph as usize],
            environment: &rows.environments[row.environment as usize],
            steps: &steps,
            measurement: measurement(rows, row),
            kernel: rows.kernel(row).unwrap_or(&no_kernel),
            details: rows.details(row).unwrap_or(&no_details),
        };
        assert!(writer.write_record(&record, &mut line));
        if crlf {
            line.push(b'\r');
        }
        let original = lines[usize::try_from(row.line).expect("it was counted")];
        assert_eq!(line, original);
    }
}

/// Returns the columns of a result.
fn measurement<'a>(rows: &'a LogRows, row: &LogRow) -> Measurement<'a> {
    Measurement {
        runtime_ns: row.runtime_ns,
        repeat_count: row.repeat_count,
        repeats: rows.repeats(row),
        error_no: row.error_no,
        all_cost: row.all_cost.map(|cost| cost.pad_digits().trim_zeros()),
        measured_at_s: row.measured_at_s,
        measured_at_fraction: row.measured_at_fraction,
        workload_index: row.workload_index,
    }
}
