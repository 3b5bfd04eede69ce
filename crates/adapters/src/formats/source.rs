//! Sources of the ingest log, for export.

use std::collections::HashMap;

use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_dialect::collect;
use tsql_error::{Error, Result};
use tsql_formats::Compression;
use tsql_schema::column;

use crate::ingest_log::Labels;

/// Segments of each source.
type Segments = HashMap<i64, Vec<Segment>>;

/// A file in the ingest log.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// Id of the source.
    pub source_id: i64,
    /// Name of the source: its path when it was ingested.
    pub name: String,
    /// Dataset of the source.
    pub dataset: String,
    /// Compression of the file.
    pub compression: Option<Compression>,
    /// Source that has this file's rows: itself, or the source with the same bytes.
    pub rows_of: i64,
    /// Segments of `rows_of`, up to the end of this file.
    pub segments: Vec<Segment>,
    /// Hash of the bytes of the file.
    pub content_hash: String,
    /// Sample that the file belongs to.
    pub sample_id: Option<i64>,
    /// Platform of the records.
    pub platform: String,
    /// Path at ingest.
    pub path: String,
    /// Collection of the source.
    pub collection: Option<String>,
    /// Split that the file belongs to.
    pub split: Option<String>,
    /// Labels of the source.
    pub labels: Labels,
}

/// Part of a file that one ingest has read.
#[derive(Clone, Debug)]
pub struct Segment {
    number: i32,
    pub(crate) first_line: u64,
    /// Number of the last line.
    pub last_line: u64,
    /// Offset behind the last byte.
    pub end_byte: u64,
    /// Kind of a last line without line ending: `record` or `other`.
    pub open_line: Option<String>,
    /// Whether lines end with a carriage return.
    pub crlf: bool,
    /// XXH3-128 of the file from its first byte to `end_byte`.
    pub content_hash: String,
    /// Name of the source at the ingest.
    pub name: String,
    /// Compression at the ingest.
    pub compression: Option<Compression>,
    /// Source with the same bytes.
    pub same_as: Option<i64>,
    /// Graph of all its records.
    pub(crate) graph_id: Option<i64>,
    pub(crate) arrays: Option<String>,
    pub(crate) arrays_hash: Option<String>,
    pub(crate) sample_id: Option<i64>,
    pub(crate) text_id: Option<i64>,
    /// Dataset of the segment.
    pub dataset: String,
    /// Platform of the segment.
    pub platform: String,
    path: String,
    /// Collection of the segment.
    pub collection: Option<String>,
    /// Split that the segment belongs to.
    pub split: Option<String>,
    /// Labels of the segment.
    pub labels: Labels,
}

impl SourceFile {
    /// Number of lines.
    pub fn line_count(&self) -> u64 {
        let last = self.segments.iter().map(|segment| segment.last_line);
        last.max().unwrap_or(0)
    }

    /// Number of bytes.
    pub fn end_byte(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.end_byte)
    }

    /// Returns whether its lines end in `\r\n`.
    pub(crate) fn is_crlf(&self) -> bool {
        self.segments.first().is_some_and(|segment| segment.crlf)
    }

    /// Number of its last segment.
    pub(crate) fn last_segment(&self) -> i32 {
        self.segments.last().map_or(0, |segment| segment.number)
    }

    /// Returns whether a later segment replaces this line.
    pub(crate) fn is_replaced(&self, segment: i32, line: u64) -> bool {
        self.segments
            .iter()
            .any(|later| later.number > segment && later.first_line <= line)
    }

    /// Returns whether this line lacks a line ending.
    pub(crate) fn is_open(&self, line: u64, kind: &str, segment: Option<i32>) -> bool {
        self.segments.iter().any(|found| {
            found.open_line.as_deref() == Some(kind)
                && found.last_line == line
                && segment.is_none_or(|segment| segment == found.number)
        })
    }
}

/// Loads all sources of the ingest log, by name.
pub async fn load_sources(context: &SessionContext) -> Result<Vec<SourceFile>> {
    let mut segments = Segments::new();
    let sql = "SELECT * FROM stored.sources ORDER BY source_id, segment";
    for batch in collect(context, sql).await? {
        let integers = |name| column::numbers::<Int64Type>(&batch, name);
        let text = |name| column::text(&batch, name);
        let (ids, ends) = (integers("source_id")?, integers("end_byte")?);
        let (first, counts) = (integers("first_line")?, integers("line_count")?);
        let (same_as, numbers) = (
            integers("same_as")?,
            column::numbers::<Int32Type>(&batch, "segment")?,
        );
        let (names, open, hashes) = (text("name")?, text("open_line")?, text("content_hash")?);
        let (endings, compression) = (text("line_ending")?, text("compression")?);
        let (arrays, array_hashes) = (text("arrays")?, text("arrays_hash")?);
        let graphs = integers("graph_id")?;
        let (samples, texts) = (integers("sample_id")?, integers("text_id")?);
        let (paths, collections) = (text("path")?, text("collection")?);
        let (platforms, datasets) = (text("platform")?, text("dataset")?);
        let (splits, labels) = (text("split")?, text("labels")?);
        for row in 0..batch.num_rows() {
            let own = |column| column::text_at(column, row).map(str::to_owned);
            segments.entry(ids.value(row)).or_default().push(Segment {
                number: numbers.value(row),
                first_line: first.value(row).unsigned_abs(),
                last_line: (first.value(row) + counts.value(row) - 1).unsigned_abs(),
                end_byte: ends.value(row).unsigned_abs(),
                open_line: own(open),
                crlf: endings.value(row) == "crlf",
                content_hash: hashes.value(row).to_owned(),
                name: names.value(row).to_owned(),
                compression: column::text_at(compression, row).and_then(Compression::by_name),
                same_as: column::value(same_as, row),
                graph_id: column::value(graphs, row),
                arrays: own(arrays),
                arrays_hash: own(array_hashes),
                sample_id: column::value(samples, row),
                text_id: column::value(texts, row),
                platform: platforms.value(row).to_owned(),
                path: paths.value(row).to_owned(),
                collection: own(collections),
                split: own(splits),
                labels: column::text_at(labels, row).map_or_else(Labels::default, Labels::parse),
                dataset: datasets.value(row).to_owned(),
            });
        }
    }
    let mut sources = Vec::with_capacity(segments.len());
    for (&id, own) in &segments {
        sources.push(build_source(id, own, &segments)?);
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sources)
}

fn build_source(id: i64, own: &[Segment], all: &Segments) -> Result<SourceFile> {
    let missing = || Error::damaged("sources", format!("source {id} refers to a missing source"));
    let last = own.last().ok_or_else(missing)?;
    let rows_of = last.same_as.unwrap_or(id);
    let segments = all.get(&rows_of).ok_or_else(missing)?.iter();
    let segments = segments.filter(|segment| segment.end_byte <= last.end_byte);
    Ok(SourceFile {
        source_id: id,
        name: last.name.clone(),
        dataset: last.dataset.clone(),
        compression: last.compression,
        rows_of,
        segments: segments.cloned().collect(),
        sample_id: last.sample_id,
        platform: last.platform.clone(),
        path: last.path.clone(),
        collection: last.collection.clone(),
        split: last.split.clone(),
        labels: own
            .iter()
            .fold(Labels::default(), |all, own| all.merge(&own.labels)),
        content_hash: last.content_hash.clone(),
    })
}
