//! Segment of a source: a row of the ingest log.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use tsql_formats::Compression;
use tsql_schema::column::arrays::{Columns, repeat_text, text_array};

use super::labels::Labelling;
use super::source::{Alias, ReadPlan};

/// Delta transaction name of a source, in the logs of its rows.
pub fn transaction_app_id(source_id: i64) -> String {
    format!("source:{source_id:016x}")
}

/// Segment of a source: a row of the ingest log.
#[derive(Clone)]
pub struct SourceSegment {
    /// Dataset of the segment.
    pub dataset: &'static str,
    /// How the file was read.
    pub reading: ReadPlan,
    /// Path of the file.
    pub path: String,
    /// Compression of the file.
    pub compression: Option<&'static str>,
    /// `None` for a file without lines.
    pub crlf: Option<bool>,
    /// Offset behind the last byte.
    pub end_byte: u64,
    /// XXH3-128 of the file from its first byte to `end_byte`.
    pub content_hash: String,
    /// Number of lines.
    pub line_count: u64,
    /// Number of records.
    pub records: u64,
    /// Number of rejected lines.
    pub rejects: u64,
    /// Number of records with verbatim text, because their columns do not rebuild it.
    pub verbatim: u64,
    /// Number of lines that are no records.
    pub other_count: u64,
    /// Kind of a last line without line ending: `record` or `other`.
    pub open_line: Option<&'static str>,
    /// Source with the same bytes.
    pub same_as: Option<i64>,
    /// Attributes of formats that read whole files.
    pub about: DocumentAttributes,
}

/// Ingest log columns that only documents fill.
#[derive(Clone, Default)]
pub struct DocumentAttributes {
    /// Collection of the file.
    pub collection: Option<String>,
    /// Split of the file.
    pub split: Option<String>,
    /// Network of the file.
    pub network: Option<String>,
    /// Graph of the file.
    pub graph_id: Option<i64>,
    /// Arrays of the file, as JSON.
    pub arrays: Option<String>,
    /// Hash of the arrays.
    pub arrays_hash: Option<String>,
    /// Sample of the file.
    pub sample_id: Option<i64>,
    /// Stored text of the file.
    pub text_id: Option<i64>,
    /// Labels in stored form. They replace those of the run.
    pub labels: Option<String>,
}

impl SourceSegment {
    /// Creates an alias: a file with the bytes of another one.
    pub fn for_alias(alias: Alias, path: String) -> Self {
        let dataset = alias.dataset;
        let same_as = alias.same_as;
        let reading = ReadPlan {
            given: alias.given,
            segment: alias.segment,
            ..ReadPlan::for_new_file(dataset, &same_as.platform, alias.name)
        };
        Self {
            dataset,
            reading,
            path,
            compression: alias.compression.map(Compression::name),
            crlf: same_as.crlf,
            end_byte: same_as.end_byte,
            content_hash: same_as.content_hash,
            line_count: 0,
            records: 0,
            rejects: 0,
            verbatim: 0,
            other_count: 0,
            open_line: None,
            same_as: Some(same_as.source_id),
            about: DocumentAttributes {
                collection: same_as.collection,
                split: same_as.split,
                ..DocumentAttributes::default()
            },
        }
    }

    /// Creates the segment of a file that was read as a whole: `bytes` with this hash, without lines.
    pub(crate) fn for_document(
        dataset: &'static str,
        reading: ReadPlan,
        path: String,
        bytes: u64,
        content_hash: String,
    ) -> Self {
        Self {
            dataset,
            reading,
            path,
            compression: None,
            crlf: None,
            end_byte: bytes,
            content_hash,
            line_count: 0,
            records: 0,
            rejects: 0,
            verbatim: 0,
            other_count: 0,
            open_line: None,
            same_as: None,
            about: DocumentAttributes::default(),
        }
    }

    /// Delta transaction of this segment: name of the source, and end offset as version.
    pub fn transaction(&self) -> (String, i64) {
        let application = transaction_app_id(self.reading.source_id);
        (application, self.end_byte.cast_signed())
    }
}

/// Columns of `sources`.
pub fn source_columns(closed: &[&SourceSegment], labelling: &Labelling) -> Columns {
    let numbers = |number: fn(&SourceSegment) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            closed.iter().map(|file| number(file).cast_signed()),
        ))
    };
    let text = |text: fn(&SourceSegment) -> &str| text_array(closed.iter().map(|file| text(file)));
    let maybe = |text: fn(&SourceSegment) -> Option<&str>| -> ArrayRef {
        Arc::new(
            closed
                .iter()
                .map(|file| text(file))
                .collect::<StringArray>(),
        )
    };
    let about = |number: fn(&DocumentAttributes) -> Option<i64>| -> ArrayRef {
        let numbers = closed.iter().map(|file| number(&file.about));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let ids = closed.iter().map(|file| file.reading.source_id);
    let segments = closed.iter().map(|file| file.reading.segment);
    let same_as: Int64Array = closed.iter().map(|file| file.same_as).collect();
    let labels: StringArray = closed
        .iter()
        .map(|file| match &file.about.labels {
            Some(labels) => Some(labels.clone()),
            None => labelling.text(&file.path),
        })
        .collect();
    let now = vec![chrono::Utc::now().timestamp_micros(); closed.len()];
    BTreeMap::from([
        (
            "source_id",
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
        ),
        ("segment", Arc::new(Int32Array::from_iter_values(segments))),
        ("dataset", text(|file| file.dataset)),
        ("platform", text(|file| &file.reading.platform)),
        (
            "first_platform",
            maybe(|file| file.reading.first_platform.as_deref()),
        ),
        ("name", text(|file| &file.reading.name)),
        ("collection", maybe(|file| file.about.collection.as_deref())),
        ("split", maybe(|file| file.about.split.as_deref())),
        ("network", maybe(|file| file.about.network.as_deref())),
        ("graph_id", about(|about| about.graph_id)),
        ("sample_id", about(|about| about.sample_id)),
        ("text_id", about(|about| about.text_id)),
        ("arrays", maybe(|file| file.about.arrays.as_deref())),
        (
            "arrays_hash",
            maybe(|file| file.about.arrays_hash.as_deref()),
        ),
        ("labels", Arc::new(labels)),
        ("path", text(|file| &file.path)),
        ("compression", maybe(|file| file.compression)),
        ("same_as", Arc::new(same_as)),
        ("first_byte", numbers(|file| file.reading.first_byte)),
        ("end_byte", numbers(|file| file.end_byte)),
        ("first_line", numbers(|file| file.reading.first_line)),
        ("line_count", numbers(|file| file.line_count)),
        ("record_count", numbers(|file| file.records)),
        ("other_count", numbers(|file| file.other_count)),
        ("reject_count", numbers(|file| file.rejects)),
        ("verbatim_count", numbers(|file| file.verbatim)),
        (
            "line_ending",
            maybe(|file| file.crlf.map(|crlf| if crlf { "crlf" } else { "lf" })),
        ),
        ("open_line", maybe(|file| file.open_line)),
        ("content_hash", text(|file| &file.content_hash)),
        (
            "ingested_at",
            Arc::new(TimestampMicrosecondArray::from(now).with_timezone("UTC")),
        ),
        (
            "tsql_version",
            repeat_text(env!("CARGO_PKG_VERSION"), closed.len()),
        ),
    ])
}
