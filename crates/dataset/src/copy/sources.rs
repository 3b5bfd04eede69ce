//! Files of a store, in the form of another store's ingest log.

use std::collections::{HashMap, HashSet};

use arrow::array::RecordBatch;
use arrow::datatypes::{Int32Type, Int64Type};
use datafusion::prelude::SessionContext;
use tsql_adapters::formats::format_by_dataset;
use tsql_adapters::ingest_log::{DocumentAttributes, ReadPlan, SourceSegment};
use tsql_dialect::collect;
use tsql_error::Result;
use tsql_formats::Compression;
use tsql_schema::column;
use tsql_session::open_session;
use tsql_store::Store;

/// Folder of files with selected lines.
pub(super) const PARTS: &str = "parts";

/// A source file with all its ingest log entries.
pub(super) struct CopySource {
    pub(super) source_id: i64,
    pub(super) name: String,
    /// Ingest log rows. Empty if its dataset is unknown.
    pub(super) segments: Vec<SourceSegment>,
    /// Its dataset, if it is unknown.
    pub(super) unknown: Option<String>,
}

/// Returns all files of a store: those with rows of their own first, then by name.
pub(super) async fn read_sources(context: &SessionContext) -> Result<Vec<CopySource>> {
    let mut files: Vec<CopySource> = Vec::new();
    let sql = "SELECT * FROM stored.sources ORDER BY source_id, segment";
    for batch in collect(context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let names = column::text(&batch, "name")?;
        let datasets = column::text(&batch, "dataset")?;
        for row in 0..batch.num_rows() {
            let source_id = ids.value(row);
            if files.last().is_none_or(|last| last.source_id != source_id) {
                files.push(CopySource {
                    source_id,
                    name: names.value(row).to_owned(),
                    segments: Vec::new(),
                    unknown: None,
                });
            }
            let Some(file) = files.last_mut() else {
                continue;
            };
            match format_by_dataset(datasets.value(row)) {
                Some(room) => file
                    .segments
                    .push(read_closed(&batch, row, room.dataset())?),
                None => file.unknown = Some(datasets.value(row).to_owned()),
            }
        }
    }
    let is_alias = |file: &CopySource| file.segments.iter().any(|one| one.same_as.is_some());
    files.sort_by(|a, b| (is_alias(a), &a.name).cmp(&(is_alias(b), &b.name)));
    Ok(files)
}

fn read_closed(batch: &RecordBatch, row: usize, dataset: &'static str) -> Result<SourceSegment> {
    let number = |name| -> Result<u64> {
        Ok(column::numbers::<Int64Type>(batch, name)?
            .value(row)
            .unsigned_abs())
    };
    let maybe = |name| {
        Ok::<_, tsql_error::Error>(column::value(
            column::numbers::<Int64Type>(batch, name)?,
            row,
        ))
    };
    let text = |name| Ok::<_, tsql_error::Error>(column::text_at(column::text(batch, name)?, row));
    let own = |name| Ok::<_, tsql_error::Error>(text(name)?.map(str::to_owned));
    let open_line =
        text("open_line")?.map(|kind| if kind == "record" { "record" } else { "other" });
    let compression = text("compression")?.and_then(Compression::by_name);
    Ok(SourceSegment {
        dataset,
        reading: ReadPlan {
            source_id: column::numbers::<Int64Type>(batch, "source_id")?.value(row),
            platform: own("platform")?.unwrap_or_default(),
            first_platform: own("first_platform")?,
            name: own("name")?.unwrap_or_default(),
            given: None,
            segment: column::numbers::<Int32Type>(batch, "segment")?.value(row),
            first_byte: number("first_byte")?,
            first_line: number("first_line")?,
            crlf: None,
        },
        path: own("path")?.unwrap_or_default(),
        compression: compression.map(Compression::name),
        crlf: text("line_ending")?.map(|ending| ending == "crlf"),
        end_byte: number("end_byte")?,
        content_hash: own("content_hash")?.unwrap_or_default(),
        line_count: number("line_count")?,
        records: number("record_count")?,
        rejects: number("reject_count")?,
        verbatim: number("verbatim_count")?,
        other_count: number("other_count")?,
        open_line,
        same_as: maybe("same_as")?,
        about: DocumentAttributes {
            collection: own("collection")?,
            split: own("split")?,
            network: own("network")?,
            graph_id: maybe("graph_id")?,
            arrays: own("arrays")?,
            arrays_hash: own("arrays_hash")?,
            sample_id: maybe("sample_id")?,
            text_id: maybe("text_id")?,
            labels: own("labels")?,
        },
    })
}

/// State of the sources in the ingest log of a store, besides their last segments.
#[derive(Default)]
pub(super) struct There {
    /// Ends of the segments of each source, and the hash of the file up to there.
    pub(super) ends: HashMap<i64, Vec<(u64, String)>>,
    /// Name and platform of files with selected lines that have records.
    pub(super) parts: HashSet<(String, String)>,
}

/// Reads the state of a store.
pub(super) async fn destination_sources(store: &Store) -> Result<There> {
    let mut there = There::default();
    let context = open_session(store).await?;
    let sql = "SELECT source_id, end_byte, content_hash FROM stored.sources";
    for batch in collect(&context, sql).await? {
        let ids = column::numbers::<Int64Type>(&batch, "source_id")?;
        let sizes = column::numbers::<Int64Type>(&batch, "end_byte")?;
        let hashes = column::text(&batch, "content_hash")?;
        for row in 0..batch.num_rows() {
            let end = (
                sizes.value(row).unsigned_abs(),
                hashes.value(row).to_owned(),
            );
            there.ends.entry(ids.value(row)).or_default().push(end);
        }
    }
    let sql = format!(
        "SELECT arrow_cast(name, 'Utf8View') AS name, arrow_cast(platform, 'Utf8View') AS platform FROM sources \
         WHERE starts_with(name, '{PARTS}/') AND source_id IN (SELECT source_id FROM records)"
    );
    for batch in collect(&context, &sql).await? {
        let (names, platforms) = (
            column::text(&batch, "name")?,
            column::text(&batch, "platform")?,
        );
        for row in 0..batch.num_rows() {
            let part = (names.value(row).to_owned(), platforms.value(row).to_owned());
            there.parts.insert(part);
        }
    }
    Ok(there)
}
