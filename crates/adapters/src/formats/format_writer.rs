//! Export: from rows to the content of files.
//!
//! ```text
//! ingest log ─▶ sources ─▶ batches ─▶ begin_batch, then write_file for each file ─▶ FileOutput ─▶ FileProof
//! ```

use std::collections::{BTreeSet, HashSet};
use std::io::{Seek, Write};
use std::path::Path;

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_error::Result;
use tsql_formats::Dialect;

use super::source::SourceFile;

/// A format whose files can be exported.
///
/// Futures are boxed here and in [`FormatWriter`] with one lifetime. `async_trait` states bounds between
/// several lifetimes. With these, the compiler proves for each method again that the whole plan is `Send`,
/// which takes five seconds each.
pub trait ExportFormat: Sync {
    /// Name of its dataset.
    fn dataset(&self) -> &'static str;

    /// Returns whether the format has logs. Earlier versions stored these twice if one was compressed.
    fn has_logs(&self) -> bool {
        false
    }

    /// Returns whether its files lack a platform, so that users must give it at ingest.
    fn needs_platform(&self) -> bool {
        false
    }

    /// Dialect of the lines, for line-based formats.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// Tables with one row for each line of its files. The ingest log counts these lines, and no rows.
    fn line_tables(&self) -> &'static [&'static str] {
        &[]
    }

    /// Order in which its files are exported.
    fn order(&self) -> ExportOrder {
        ExportOrder::Names
    }

    /// Creates a writer for its files in the given session.
    fn writer<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn FormatWriter + 'a>>>;

    /// Path of a file inside the Parquet file that contained it as a row.
    fn hub_path(&self, _: &SourceFile) -> Option<String> {
        None
    }

    /// Identifiers of the samples that a predicate over `samples` selects.
    fn select_samples<'a>(
        &'a self,
        _: &'a SessionContext,
        _predicate: &'a str,
    ) -> BoxFuture<'a, Result<HashSet<i64>>> {
        Box::pin(ready(Ok(HashSet::new())))
    }

    /// Sources of this format that the records of these sources refer to.
    fn referenced_sources<'a>(
        &'a self,
        _: &'a SessionContext,
        _records: &'a BTreeSet<i64>,
    ) -> BoxFuture<'a, Result<BTreeSet<i64>>> {
        Box::pin(ready(Ok(BTreeSet::new())))
    }

    /// Recomputes the content hashes of its rows.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<HashCheck>>;
}

/// Writes files of one format, batch by batch.
pub trait FormatWriter: Send {
    /// Prepares for the files of a batch, which follow in its order.
    fn begin_batch<'a>(&'a mut self, _portion: &'a ExportBatch<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(Ok(())))
    }

    /// Writes the content of a file.
    ///
    /// # Errors
    ///
    /// [`Error::Damaged`](tsql_error::Error::Damaged) if its rows are incomplete. Other files may still be
    /// complete.
    fn write_file<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn FileOutput,
    ) -> BoxFuture<'a, Result<FileProof>>;
}

/// Order in which files are exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportOrder {
    /// By name, independent of each other.
    Names,
    /// By the graphs of their records, in the order of the table files. Rows of a source are read once for
    /// all its copies. Sources ascend within a batch.
    Graphs,
}

/// Files that are exported together.
#[derive(Default)]
pub struct ExportBatch<'a> {
    /// Each file with its copies: the same bytes under other names.
    pub copies: Vec<Vec<&'a SourceFile>>,
    /// Minimum and maximum graph identifier of all their records, if known.
    pub graphs: Option<(i64, i64)>,
    /// Total number of lines, without copies.
    pub lines: u64,
    /// Total number of bytes, without copies.
    pub bytes: u64,
}

impl ExportBatch<'_> {
    /// Maximum number of lines of a batch. A larger batch is a single file.
    pub const MAX_LINES: u64 = 1 << 18;

    /// All files of the batch.
    pub fn sources(&self) -> impl Iterator<Item = &SourceFile> + Clone {
        self.copies.iter().flatten().copied()
    }

    /// Identifiers of the sources whose rows the files consist of.
    pub(crate) fn source_ids(&self) -> Vec<String> {
        let first = self.copies.iter().filter_map(|copies| copies.first());
        first.map(|source| source.rows_of.to_string()).collect()
    }
}

/// Output of a file's content.
pub trait FileOutput: Send {
    /// Writes the next bytes. Errors are reported to the creator of the output.
    fn write(&mut self, bytes: &[u8]);

    /// The file and its path, for writers that seek. `None` if the content is only verified.
    fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)>;
}

/// A file that may be written in any order.
pub trait Seekable: Write + Seek + Send {}

impl<T: Write + Seek + Send> Seekable for T {}

/// Evidence that a file equals the ingested one.
pub enum FileProof {
    /// The hash of its bytes must match.
    Bytes,
    /// Its content was compared, independent of the bytes. Contains the difference, if any.
    Content(Option<String>),
}

/// Result of recomputing content hashes.
#[derive(Default)]
pub struct HashCheck {
    /// Number of hashes.
    pub hashes: u64,
    /// Mismatches: table and description.
    pub wrong: Vec<(String, String)>,
}

impl HashCheck {
    /// Adds the result for a row of `table`.
    pub(crate) fn add(&mut self, table: &str, wrong: Option<String>) {
        self.hashes += 1;
        self.wrong
            .extend(wrong.map(|reason| (table.to_owned(), reason)));
    }
}
