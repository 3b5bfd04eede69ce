//! The splits of a store, and what is in them.

use arrow::array::AsArray as _;
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type};
use datafusion::prelude::{SessionContext, col, lit};

use super::scope::Scope;
use super::session::session;
use super::split::{PartCount, Split};
use crate::column;
use crate::error::{Error, Result};
use crate::query::SessionOptions;
use crate::query::splits::{Definition, all, find};
use crate::store::{Rests, Snapshot, Store};

/// The table of splits.
pub(super) const SPLITS: &str = "splits";

impl Store {
    /// All versions of all splits, by name and version.
    ///
    /// # Errors
    /// Failures of the storage.
    pub async fn splits(&self) -> Result<Vec<Split>> {
        let all = all(&of_definitions(self).await?).await?;
        Ok(all.iter().map(Split::of).collect())
    }

    /// A split: `NAME@VERSION`, or `NAME` for its newest version.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none.
    pub async fn split(&self, name: &str) -> Result<Split> {
        let found = find(&of_definitions(self).await?, name).await?;
        Ok(Split::of(&found))
    }

    /// How many of the records that a split is about are in each of its parts now, in the order train, valid, test, none.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is no such split, and failures of the storage.
    pub async fn parts_of_split(&self, name: &str) -> Result<Vec<PartCount>> {
        let (_, parts) = with_parts(self, name).await?;
        Ok(parts)
    }

    /// Takes a split away: `NAME@VERSION`, or `NAME` with all its versions; says how many there were. Their numbers are not given out again.
    ///
    /// # Errors
    /// [`Error::Unknown`] where there is none; [`Error::ReadOnly`] for a store as it was.
    pub async fn drop_split(&self, name: &str) -> Result<u64> {
        self.changeable()?;
        let found = self.split(name).await?;
        let mut own = col("name").eq(lit(&found.name));
        if name.contains('@') {
            own = own.and(col("version").eq(lit(found.version)));
        }
        let detail = format!("drop split {name}");
        let mut dropped = 0;
        let mut rests = Rests::default();
        self.commit(SPLITS, &detail, async |snapshot: &Snapshot| {
            let (rows, mut change) = self.without(SPLITS, snapshot, &own, &mut rests).await?;
            dropped = rows;
            let highest = given(snapshot, &found.name).await?.max(found.version);
            change.transactions = vec![(numbers_of(&found.name), highest)];
            Ok((rows > 0).then_some(change))
        })
        .await?;
        Ok(dropped)
    }
}

/// The highest version that a split of this name was given, whether it is there or not; 0 where nobody noted any.
pub(super) async fn given(at: &Snapshot, name: &str) -> Result<i64> {
    Ok(at.transaction(&numbers_of(name)).await?.unwrap_or_default())
}

/// The application transaction that counts the versions of a split.
pub(super) fn numbers_of(name: &str) -> String {
    format!("tsql split {name}")
}

/// A split with its parts.
pub(super) async fn with_parts(store: &Store, name: &str) -> Result<(Split, Vec<PartCount>)> {
    let split = find(&of_definitions(store).await?, name).await?;
    let query = split.query.as_deref();
    let context = session(store, &[query]).await?;
    let scope = Scope::of(&context, query, &[]).await?;
    let parts = parts_of(&scope, &split).await?;
    Ok((Split::of(&split), parts))
}

/// A session that knows what splits are made by.
pub(super) async fn of_definitions(store: &Store) -> Result<SessionContext> {
    let options = SessionOptions::default().sql("SELECT name FROM splits");
    store.session_with(&options).await
}

/// The call that gives the part of a row.
pub(super) fn call(split: &Definition) -> String {
    format!("split('{}')", split.full_name())
}

/// Records of each part.
pub(super) async fn parts_of(scope: &Scope<'_>, split: &Definition) -> Result<Vec<PartCount>> {
    let sql = format!(
        "SELECT {} AS part, count(*) AS record_count FROM $rows GROUP BY 1 \
         ORDER BY CASE part WHEN 'train' THEN 1 WHEN 'valid' THEN 2 WHEN 'test' THEN 3 ELSE 4 END",
        call(split)
    );
    let mut parts = Vec::new();
    for batch in scope.ask(&sql).await? {
        let names = cast(batch.column(0), &DataType::Utf8View);
        let names = names.map_err(|error| Error::Query(error.into()))?;
        let counts = column::numbers::<Int64Type>(&batch, "record_count")?;
        for (part, count) in names.as_string_view().iter().zip(counts.values()) {
            parts.push(PartCount {
                part: part.map(str::to_owned),
                record_count: count.unsigned_abs(),
            });
        }
    }
    Ok(parts)
}
