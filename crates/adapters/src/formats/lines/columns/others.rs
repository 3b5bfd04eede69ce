//! Rows of `lines`: comments and rejected lines.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, BinaryBuilder, Int32Array, Int64Array, StringArray};
use tsql_schema::column::arrays::{Columns, text_array};

/// A comment, a rejected line, or a part of one.
pub struct NonRecordLine {
    /// Segment of the source.
    pub segment: i32,
    /// Line number, from 1.
    pub line: u64,
    /// Index of the piece of a very long line, from 0; 0 for other lines.
    pub part: i32,
    /// Reason of the rejection. `None` for comments.
    pub reason: Option<String>,
    /// Bytes of the line.
    pub text: Vec<u8>,
}

/// Columns of `lines`, each row with its source.
pub fn non_record_columns(others: &[(i64, NonRecordLine)]) -> Columns {
    let kind = |other: &NonRecordLine| {
        if other.reason.is_some() {
            "rejected"
        } else {
            "comment"
        }
    };
    let rows = || others.iter().map(|(_, other)| other);
    let mut bytes = BinaryBuilder::new();
    rows().for_each(|other| bytes.append_value(&other.text));
    let sources = others.iter().map(|(source_id, _)| *source_id);
    let lines = rows().map(|other| other.line.cast_signed());
    let segments = rows().map(|other| other.segment);
    let parts = rows().map(|other| other.part);
    let reasons: StringArray = rows().map(|other| other.reason.as_deref()).collect();
    BTreeMap::from([
        (
            "source_id",
            Arc::new(Int64Array::from_iter_values(sources)) as ArrayRef,
        ),
        ("segment", Arc::new(Int32Array::from_iter_values(segments))),
        ("line", Arc::new(Int64Array::from_iter_values(lines))),
        ("part", Arc::new(Int32Array::from_iter_values(parts))),
        ("kind", text_array(rows().map(kind))),
        ("reason", Arc::new(reasons)),
        ("text", Arc::new(bytes.finish())),
    ])
}
