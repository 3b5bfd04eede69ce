//! The answers that tabs look at.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow::datatypes::SchemaRef;
use tsql_folders::Scratch;

use super::kept::{Keeping, Kept};
use crate::error::{Error, Result};

/// Answers that are kept; older ones go.
const KEPT: usize = 12;

/// By which column rows are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) is_down: bool,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) id: u64,
    /// As the question gave them.
    pub(super) rows: Arc<Kept>,
    /// Units of the columns, as far as the schema knows them.
    pub(super) units: Vec<Option<String>>,
    /// In the order that somebody asked for last.
    pub(super) sorted: tokio::sync::Mutex<Option<(Order, u64, Arc<Kept>)>>,
}

/// All answers. Their rows are in one folder, which only this user looks into.
#[derive(Debug)]
pub(super) struct Answers {
    folder: Scratch,
    numbers: AtomicU64,
    /// Those that were looked at last stand last.
    kept: Mutex<VecDeque<Arc<Answer>>>,
}

impl Answers {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            folder: Scratch::new()?,
            numbers: AtomicU64::new(1),
            kept: Mutex::default(),
        })
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Answer>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A file for rows.
    pub(super) fn keeping(&self, schema: SchemaRef) -> Result<(u64, Keeping)> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.path().join(format!("{number}.rows"));
        Ok((number, Keeping::new(&path, schema)?))
    }

    /// A new answer, and where its rows go.
    pub(super) fn begin(
        &self,
        schema: SchemaRef,
        units: Vec<Option<String>>,
    ) -> Result<(Arc<Answer>, Keeping)> {
        let (id, keeping) = self.keeping(schema)?;
        let answer = Arc::new(Answer {
            id,
            rows: keeping.kept(),
            units,
            sorted: tokio::sync::Mutex::default(),
        });
        let mut kept = self.kept();
        kept.push_back(Arc::clone(&answer));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        Ok((answer, keeping))
    }

    /// The answer of this number.
    pub(super) fn get(&self, id: u64) -> Result<Arc<Answer>> {
        let mut kept = self.kept();
        let place = kept.iter().position(|answer| answer.id == id);
        let found = place.and_then(|place| kept.remove(place));
        let gone = || Error::Empty("this answer is kept no more: ask again".to_owned());
        let found = found.ok_or_else(gone)?;
        kept.push_back(Arc::clone(&found));
        Ok(found)
    }

    /// Nobody looks at it any more.
    pub(super) fn forget(&self, id: u64) {
        self.kept().retain(|answer| answer.id != id);
    }

    pub(super) fn count(&self) -> usize {
        self.kept().len()
    }
}
