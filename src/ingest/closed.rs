//! A file that was read to its end: its row in the ledger.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, Int32Array, Int64Array, StringArray, TimestampMicrosecondArray};
use tsql_formats::Compression;

use super::commits::application;
use super::ledger::{Alias, Reading, Source, UNCOMMITTED};
use super::tables::{repeated, texts};

/// A file's row in the ledger.
pub(super) struct Closed {
    pub(super) dataset: &'static str,
    pub(super) reading: Reading,
    pub(super) path: String,
    pub(super) compression: Option<&'static str>,
    /// `None` for a file without lines.
    pub(super) crlf: Option<bool>,
    pub(super) end_byte: u64,
    pub(super) content_hash: String,
    pub(super) line_count: u64,
    pub(super) records: u64,
    pub(super) rejects: u64,
    pub(super) verbatim: u64,
    pub(super) other_count: u64,
    pub(super) open_line: Option<&'static str>,
    pub(super) same_as: Option<i64>,
    pub(super) about: About,
}

/// What the ledger says of files that are one document.
#[derive(Default)]
pub(super) struct About {
    pub(super) collection: Option<String>,
    pub(super) split: Option<String>,
    pub(super) network: Option<String>,
    pub(super) graph_id: Option<i64>,
    pub(super) arrays: Option<String>,
    pub(super) arrays_hash: Option<String>,
    pub(super) sample_id: Option<i64>,
    pub(super) text_id: Option<i64>,
}

impl Closed {
    /// A file with the bytes of another.
    pub(super) fn alias(dataset: &'static str, alias: Alias, path: String) -> Self {
        let same_as = alias.same_as;
        let reading = Reading {
            given: alias.given,
            segment: alias.segment,
            ..Reading::of_file(dataset, &same_as.platform, alias.name)
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
            about: About {
                collection: same_as.collection,
                split: same_as.split,
                ..About::default()
            },
        }
    }

    /// What the ledger will say of it.
    pub(super) fn as_source(&self) -> Source {
        Source {
            source_id: self.reading.source_id,
            platform: self.reading.platform.clone(),
            name: self.reading.name.clone(),
            segments: UNCOMMITTED,
            end_byte: self.end_byte,
            last_line: 0,
            open_line: None,
            content_hash: self.content_hash.clone(),
            crlf: self.crlf,
            same_as: self.same_as,
            collection: self.about.collection.clone(),
            split: self.about.split.clone(),
            sample_id: self.about.sample_id,
            arrays: None,
        }
    }

    /// Who this is, and how far it got, in the log of the records.
    pub(super) fn transaction(&self) -> (String, i64) {
        let application = application(self.reading.source_id);
        (application, self.end_byte.cast_signed())
    }
}

/// Rows of `sources`.
pub(super) fn source_columns(closed: &[&Closed]) -> BTreeMap<&'static str, ArrayRef> {
    let numbers = |number: fn(&Closed) -> u64| -> ArrayRef {
        Arc::new(Int64Array::from_iter_values(
            closed.iter().map(|file| number(file).cast_signed()),
        ))
    };
    let text = |text: fn(&Closed) -> &str| texts(closed.iter().map(|file| text(file)).collect());
    let maybe = |text: fn(&Closed) -> Option<&str>| -> ArrayRef {
        Arc::new(
            closed
                .iter()
                .map(|file| text(file))
                .collect::<StringArray>(),
        )
    };
    let about = |number: fn(&About) -> Option<i64>| -> ArrayRef {
        let numbers = closed.iter().map(|file| number(&file.about));
        Arc::new(numbers.collect::<Int64Array>())
    };
    let ids = closed.iter().map(|file| file.reading.source_id);
    let segments = closed.iter().map(|file| file.reading.segment);
    let same_as: Int64Array = closed.iter().map(|file| file.same_as).collect();
    let now = vec![chrono::Utc::now().timestamp_micros(); closed.len()];
    BTreeMap::from([
        (
            "source_id",
            Arc::new(Int64Array::from_iter_values(ids)) as ArrayRef,
        ),
        ("segment", Arc::new(Int32Array::from_iter_values(segments))),
        ("dataset", text(|file| file.dataset)),
        ("platform", text(|file| &file.reading.platform)),
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
            repeated(env!("CARGO_PKG_VERSION"), closed.len()),
        ),
    ])
}
