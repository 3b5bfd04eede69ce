//! The way back: from rows to the content of files.
//!
//! ```text
//! ledger ─▶ sources ─▶ portions ─▶ Giver::begin, then for each file Giver::give ─▶ Out ─▶ Proof
//! ```

use std::collections::{BTreeSet, HashSet};
use std::io::{Seek, Write};
use std::path::Path;

use datafusion::prelude::SessionContext;
use futures::future::{BoxFuture, ready};
use tsql_formats::Dialect;

use super::source::SourceFile;
use crate::error::Result;

/// A format whose files can be given back.
///
/// Futures are boxed here and in [`Giver`] with one lifetime. `async_trait` states bounds between several, with which the
/// compiler proves anew for each method that all of a plan is `Send`: five seconds each.
pub(crate) trait Giving: Sync {
    /// Name of its dataset.
    fn dataset(&self) -> &'static str;

    /// It has logs, which earlier versions stored twice where one was compressed.
    fn has_logs(&self) -> bool {
        false
    }

    /// Its files do not say their platform: whoever ingests them has to.
    fn needs_platform(&self) -> bool {
        false
    }

    /// What its lines look like, where its files are lines.
    fn dialect(&self) -> Option<Dialect> {
        None
    }

    /// In which order its files are given back.
    fn order(&self) -> Order {
        Order::Names
    }

    /// Makes what gives its files back, from what a session sees.
    fn giver<'a>(
        &'a self,
        context: &'a SessionContext,
    ) -> BoxFuture<'a, Result<Box<dyn Giver + 'a>>>;

    /// Where a file lay in the one that it was a row of.
    fn hub_path(&self, _: &SourceFile) -> Option<String> {
        None
    }

    /// Identifiers of the samples that a predicate over `samples` selects.
    fn samples<'a>(
        &'a self,
        _: &'a SessionContext,
        _predicate: &'a str,
    ) -> BoxFuture<'a, Result<HashSet<i64>>> {
        Box::pin(ready(Ok(HashSet::new())))
    }

    /// The sources of its files that the records of these sources refer to.
    fn referred<'a>(
        &'a self,
        _: &'a SessionContext,
        _records: &'a BTreeSet<i64>,
    ) -> BoxFuture<'a, Result<BTreeSet<i64>>> {
        Box::pin(ready(Ok(BTreeSet::new())))
    }

    /// Computes the hashes again that its own rows are known by.
    fn recompute<'a>(&'a self, context: &'a SessionContext) -> BoxFuture<'a, Result<Recomputed>>;
}

/// Gives files of one format back, portion by portion.
pub(crate) trait Giver: Send {
    /// Makes ready for the files of a portion, which come next and in its order.
    fn begin<'a>(&'a mut self, _portion: &'a Portion<'a>) -> BoxFuture<'a, Result<()>> {
        Box::pin(ready(Ok(())))
    }

    /// Writes the content of a file.
    ///
    /// # Errors
    /// [`Error::Damaged`](crate::Error::Damaged) where it is not all there; others may be.
    fn give<'a>(
        &'a mut self,
        source: &'a SourceFile,
        out: &'a mut dyn Out,
    ) -> BoxFuture<'a, Result<Proof>>;
}

/// An order in which files are given back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By their names, each by itself.
    Names,
    /// By the graphs of their records, as these lie in the files of a table. Rows of a source pass by once,
    /// for all its copies; in a portion sources rise.
    Graphs,
}

/// Files that are given back together.
#[derive(Default)]
pub(crate) struct Portion<'a> {
    /// Each with its copies: the same bytes under other names.
    pub(crate) copies: Vec<Vec<&'a SourceFile>>,
    /// Least and greatest graph of the records of all of them, where they are known.
    pub(crate) graphs: Option<(i64, i64)>,
    /// Lines of all of them, copies aside.
    pub(crate) lines: u64,
    /// Bytes of all of them, copies aside.
    pub(crate) bytes: u64,
}

impl Portion<'_> {
    /// Lines of a portion at most; one with more is a single file.
    pub(crate) const LINES: u64 = 1 << 18;

    /// All files of it.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &SourceFile> + Clone {
        self.copies.iter().flatten().copied()
    }

    /// The numbers of the sources whose rows they have.
    pub(crate) fn ids(&self) -> Vec<String> {
        let first = self.copies.iter().filter_map(|copies| copies.first());
        first.map(|source| source.rows_of.to_string()).collect()
    }
}

/// Where the content of a file goes.
pub(crate) trait Out: Send {
    /// Takes its next bytes. What fails is told to who made it.
    fn write(&mut self, bytes: &[u8]);

    /// The file itself and its path, for who seeks in it; `None` where it is only looked at.
    fn file(&mut self) -> Option<(&mut dyn Seekable, &Path)>;
}

/// A file that may be written in any order.
pub(crate) trait Seekable: Write + Seek + Send {}

impl<T: Write + Seek + Send> Seekable for T {}

/// What proves that a file is the one that was ingested.
pub(crate) enum Proof {
    /// The hash of its bytes.
    Bytes,
    /// Its content, whatever the bytes: why it is another, where it is.
    Content(Option<String>),
}

/// Hashes that were computed again.
#[derive(Default)]
pub(crate) struct Recomputed {
    /// How many.
    pub(crate) hashes: u64,
    /// Those that are others: table and description.
    pub(crate) wrong: Vec<(String, String)>,
}

impl Recomputed {
    /// One of a row of `table`, and what is wrong with it.
    pub(crate) fn add(&mut self, table: &str, wrong: Option<String>) {
        self.hashes += 1;
        self.wrong
            .extend(wrong.map(|reason| (table.to_owned(), reason)));
    }
}
