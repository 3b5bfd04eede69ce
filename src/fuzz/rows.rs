//! Properties of the rows that line readers return.

use tsql_codecs::repeats;
use tsql_codecs::steps::{StepsHasher, StepsNumbers, StepsWriter};
use tsql_formats::rows::{LogRow, LogRows};

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
pub(super) fn sketch<'a>(rows: &'a LogRows, row: &LogRow) -> &'a str {
    let text = &rows.sketches[row.sketch as usize].text;
    std::str::from_utf8(text).expect("sketches are text")
}
