//! One source: its segments, its records and its other lines put together again.

use std::collections::HashMap;

use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_formats::{Compression, graphnet};

use super::kept::SourceText;
use super::lines::{self, Lines};
use super::portions::Records;
use super::{Counted, Segments};
use crate::column;
use crate::error::{Error, Result};
use crate::query::collect;

/// A file as the ledger has it.
#[derive(Clone, Debug)]
pub(super) struct SourceFile {
    pub(super) source_id: i64,
    pub(super) name: String,
    pub(super) dataset: String,
    pub(super) compression: Option<Compression>,
    /// The source whose rows are this one's too: itself, or the one with the same bytes.
    pub(super) rows_of: i64,
    pub(super) segments: Vec<Segment>,
    crlf: bool,
    pub(super) content_hash: String,
    /// For a file that is one document.
    pub(super) document: Option<SourceDocument>,
    /// GraphNet: the sample that it belongs to.
    pub(super) sample_id: Option<i64>,
    pub(super) platform: String,
    /// How it was named at ingest.
    pub(super) path: String,
    /// TpuGraphs' collection, or the folder of GraphNet's hub.
    pub(super) collection: Option<String>,
    pub(super) split: Option<String>,
}

/// What a document's arrays are made of.
#[derive(Clone, Debug)]
pub(super) struct SourceDocument {
    pub(super) graph_id: i64,
    pub(super) arrays: String,
    pub(super) arrays_hash: String,
}

/// What one ingest read of a file.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    number: i32,
    first_line: u64,
    last_line: u64,
    end_byte: u64,
    open_line: Option<String>,
    crlf: bool,
    content_hash: String,
    name: String,
    compression: Option<Compression>,
    same_as: Option<i64>,
    document: Option<SourceDocument>,
    text: Option<SourceText>,
    sample_id: Option<i64>,
    dataset: String,
    platform: String,
    path: String,
    collection: Option<String>,
    split: Option<String>,
}

/// A line that is no record, or a part of one.
#[derive(Clone, Debug)]
pub(super) struct Other {
    segment: i32,
    line: u64,
    text: Vec<u8>,
}

impl SourceFile {
    /// The texts that it is made of, one after the other.
    pub(super) fn texts(&self) -> impl Iterator<Item = SourceText> {
        self.segments.iter().filter_map(|segment| segment.text)
    }

    /// Is it made of records and other lines?
    pub(super) fn is_log(&self) -> bool {
        self.document.is_none() && self.texts().next().is_none()
    }

    /// Is it a file that belongs to no sample and has no records?
    pub(super) fn is_kept_whole(&self) -> bool {
        self.sample_id.is_none() && self.platform == "none" && self.texts().next().is_some()
    }

    /// Its lines.
    pub(super) fn line_count(&self) -> u64 {
        let last = self.segments.iter().map(|segment| segment.last_line);
        last.max().unwrap_or(0)
    }

    pub(super) fn end_byte(&self) -> u64 {
        self.segments.last().map_or(0, |segment| segment.end_byte)
    }

    /// Does a later segment say something else about this line?
    fn replaced(&self, segment: i32, line: u64) -> bool {
        self.segments
            .iter()
            .any(|later| later.number > segment && later.first_line <= line)
    }

    /// Has this line no line ending?
    fn is_open(&self, line: u64, kind: &str, segment: Option<i32>) -> bool {
        self.segments.iter().any(|found| {
            found.open_line.as_deref() == Some(kind)
                && found.last_line == line
                && segment.is_none_or(|segment| segment == found.number)
        })
    }
}

/// All sources of the ledger, by name.
pub(super) async fn all(context: &SessionContext) -> Result<Vec<SourceFile>> {
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
        let splits = text("split")?;
        let kept = |row| {
            let sample = column::value(samples, row).map(SourceText::Sample);
            let kept = column::value(texts, row).map(SourceText::Kept);
            // What GraphNet has besides is logs.
            let is_log =
                datasets.value(row) == graphnet::NAME && column::value(same_as, row).is_none();
            let runs = || SourceText::Runs {
                source_id: ids.value(row),
                first_line: first.value(row),
                line_count: counts.value(row),
            };
            kept.or(sample).or_else(|| is_log.then(runs))
        };
        let document = |row| {
            Some(SourceDocument {
                graph_id: column::value(graphs, row)?,
                arrays: column::text_at(arrays, row)?.to_owned(),
                arrays_hash: column::text_at(array_hashes, row)?.to_owned(),
            })
        };
        for row in 0..batch.num_rows() {
            segments.entry(ids.value(row)).or_default().push(Segment {
                number: numbers.value(row),
                first_line: first.value(row).unsigned_abs(),
                last_line: (first.value(row) + counts.value(row) - 1).unsigned_abs(),
                end_byte: ends.value(row).unsigned_abs(),
                open_line: column::text_at(open, row).map(str::to_owned),
                crlf: endings.value(row) == "crlf",
                content_hash: hashes.value(row).to_owned(),
                name: names.value(row).to_owned(),
                compression: column::text_at(compression, row).and_then(Compression::named),
                same_as: column::value(same_as, row),
                document: document(row),
                text: kept(row),
                sample_id: column::value(samples, row),
                platform: platforms.value(row).to_owned(),
                path: paths.value(row).to_owned(),
                collection: column::text_at(collections, row).map(str::to_owned),
                split: column::text_at(splits, row).map(str::to_owned),
                dataset: datasets.value(row).to_owned(),
            });
        }
    }
    let mut sources = Vec::with_capacity(segments.len());
    for (&id, own) in &segments {
        sources.push(source(id, own, &segments)?);
    }
    sources.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sources)
}

fn source(id: i64, own: &[Segment], all: &Segments) -> Result<SourceFile> {
    let missing = || {
        Error::damaged(
            "sources",
            format!("source {id} refers to one that is not there"),
        )
    };
    let last = own.last().ok_or_else(missing)?;
    let rows_of = last.same_as.unwrap_or(id);
    let segments = all.get(&rows_of).ok_or_else(missing)?.iter();
    let segments: Vec<Segment> = segments
        .filter(|segment| segment.end_byte <= last.end_byte)
        .cloned()
        .collect();
    Ok(SourceFile {
        source_id: id,
        name: last.name.clone(),
        dataset: last.dataset.clone(),
        compression: last.compression,
        rows_of,
        crlf: segments.first().is_some_and(|segment| segment.crlf),
        document: segments
            .first()
            .and_then(|segment| segment.document.clone()),
        segments,
        sample_id: last.sample_id,
        platform: last.platform.clone(),
        path: last.path.clone(),
        collection: last.collection.clone(),
        split: last.split.clone(),
        content_hash: last.content_hash.clone(),
    })
}

/// The other lines of some sources, in order.
pub(super) async fn others(
    context: &SessionContext,
    sources: &[String],
) -> Result<HashMap<i64, Vec<Other>>> {
    if sources.is_empty() {
        return Ok(HashMap::new());
    }
    let sql = format!(
        "SELECT source_id, segment, line, text FROM stored.lines WHERE source_id IN ({}) \
         ORDER BY source_id, line, segment, part",
        sources.join(", ")
    );
    let mut others: HashMap<i64, Vec<Other>> = HashMap::new();
    for batch in collect(context, &sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let lines = column::numbers::<Int64Type>(&batch, "line")?;
        let segments = column::numbers::<Int32Type>(&batch, "segment")?;
        let texts = column::bytes(&batch, "text")?;
        for row in 0..batch.num_rows() {
            others.entry(ids.value(row)).or_default().push(Other {
                segment: segments.value(row),
                line: lines.value(row).unsigned_abs(),
                text: texts.value(row).to_vec(),
            });
        }
    }
    Ok(others)
}

/// Writes the bytes of a source.
pub(super) async fn write(
    source: &SourceFile,
    records: &mut Records<'_>,
    others: &[Other],
    lines: &mut Lines,
    out: &mut Counted,
) -> Result<()> {
    let end = source.line_count();
    let last = source.segments.last().map_or(0, |segment| segment.number);
    let kept = |other: &&Other| {
        other.segment <= last && other.line <= end && !source.replaced(other.segment, other.line)
    };
    let mut others = others.iter().filter(kept).peekable();
    let mut line = Vec::new();
    while let Some(batch) = records.of(source.rows_of).await? {
        for row in lines::rows(&batch)? {
            if row.line > end {
                continue;
            }
            while let Some(other) = others.next_if(|other| other.line < row.line) {
                let more = others.peek().is_some_and(|next| next.line == other.line);
                write_other(source, other, more, out);
            }
            line.clear();
            lines.write(&row, source.crlf, &mut line)?;
            if !source.is_open(row.line, "record", None) {
                line.push(b'\n');
            }
            out.write(&line);
        }
    }
    while let Some(other) = others.next() {
        let more = others.peek().is_some_and(|next| next.line == other.line);
        write_other(source, other, more, out);
    }
    Ok(())
}

fn write_other(source: &SourceFile, other: &Other, more: bool, out: &mut Counted) {
    out.write(&other.text);
    if !more && !source.is_open(other.line, "other", Some(other.segment)) {
        out.write(b"\n");
    }
}
